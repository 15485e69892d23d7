#include "core/runner/runner.h"
#include "hooks/lr_updater_hook.h"

namespace osprey {
namespace {

// Up and down between the initial rate and multiples of it; see CyclicSchedule for the keys. target_ratio
// defaults to [10, 1e-4].
class CyclicLrUpdaterHook final : public LrUpdaterHook {
 public:
  explicit CyclicLrUpdaterHook(const ConfigNode& cfg)
      : LrUpdaterHook(cfg, /*by_epoch_default=*/false), schedule_(cfg, 10, 1e-4) {}
  void before_run(Runner& runner) override { schedule_.check(runner.max_iters()); }

 protected:
  double regular_lr(double base_lr, double progress, double max_progress) const override {
    return schedule_.at(base_lr, progress, max_progress);
  }

 private:
  CyclicSchedule schedule_;
};

OSPREY_REGISTER_HOOK(CyclicLrUpdaterHook);

}  // namespace
}  // namespace osprey
