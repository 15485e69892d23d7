#include "tests/cuda_emulator/fail.h"

#include <execinfo.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "core/base/work_context.h"

namespace osprey::emulator {

void fail(const std::string& message) {
  const std::string work = describe_work();
  std::fprintf(stderr, "cuda emulator: %s%s\n", message.c_str(),
               work.empty() ? "" : (" (" + work + ")").c_str());
  std::fflush(stderr);
  void* frames[48];
  backtrace_symbols_fd(frames, backtrace(frames, 48), STDERR_FILENO);
  std::abort();
}

}  // namespace osprey::emulator
