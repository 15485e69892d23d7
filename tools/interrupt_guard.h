#pragma once

namespace osprey {

class Runner;

// While one lives, SIGINT and SIGTERM ask the runner to stop after its iteration; a second signal ends the
// process at once. One at a time.
class InterruptGuard {
 public:
  explicit InterruptGuard(Runner& runner);
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

}  // namespace osprey
