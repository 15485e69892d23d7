#include "tools/interrupt_guard.h"

#include <atomic>
#include <csignal>

#include "core/runner/runner.h"

namespace osprey {
namespace {

// A signal handler can reach nothing but globals.
std::atomic<Runner*> interrupted_runner{nullptr};

void on_signal(int signal) {
  if (Runner* runner = interrupted_runner.load()) runner->request_stop();
  std::signal(signal, SIG_DFL);
}

}  // namespace

InterruptGuard::InterruptGuard(Runner& runner) {
  interrupted_runner = &runner;
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  interrupted_runner = nullptr;
}

}  // namespace osprey
