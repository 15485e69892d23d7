#include "core/runner/runner.h"
#include "hooks/momentum_updater_hook.h"

namespace osprey {
namespace {

// Down and up between the initial momentum and fractions of it, against the learning rate; see CyclicSchedule
// for the keys. target_ratio defaults to [0.85 / 0.95, 1].
class CyclicMomentumUpdaterHook final : public MomentumUpdaterHook {
 public:
  explicit CyclicMomentumUpdaterHook(const ConfigNode& cfg)
      : MomentumUpdaterHook(cfg, /*by_epoch_default=*/false), schedule_(cfg, 0.85 / 0.95, 1) {}
  void before_run(Runner& runner) override { schedule_.check(runner.max_iters()); }

 protected:
  double regular_momentum(double base_momentum, size_t, double progress, double max_progress) const override {
    return schedule_.at(base_momentum, progress, max_progress);
  }

 private:
  CyclicSchedule schedule_;
};

OSPREY_REGISTER_HOOK(CyclicMomentumUpdaterHook);

}  // namespace
}  // namespace osprey
