#include <chrono>

#include "core/runner/runner.h"

namespace osprey {
namespace {

// Logs `time` (seconds per iteration, loading included) and `data_time` (loading alone) of every iteration,
// skipped ones too, but without the replays that explain a skip.
class IterTimerHook final : public Hook {
 public:
  explicit IterTimerHook(const ConfigNode&) {}
  Priority priority() const override { return Priority::kLow; }
  void before_epoch(Runner&) override { last_ = Clock::now(); }
  void before_iter(Runner& runner) override { runner.log_buffer().put("data_time", elapsed()); }
  void after_iter(Runner& runner) override {
    runner.log_buffer().put("time", elapsed() - runner.diagnosis_seconds());
    last_ = Clock::now();
  }

 private:
  using Clock = std::chrono::steady_clock;
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - last_).count(); }

  Clock::time_point last_ = Clock::now();
};

OSPREY_REGISTER_HOOK(IterTimerHook);

}  // namespace
}  // namespace osprey
