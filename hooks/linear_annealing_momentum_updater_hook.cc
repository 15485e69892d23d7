#include "hooks/momentum_updater_hook.h"

namespace osprey {
namespace {

// A straight line from the initial momentum to the floor. Keys: min_momentum or min_momentum_ratio.
class LinearAnnealingMomentumUpdaterHook final : public MomentumUpdaterHook {
 public:
  explicit LinearAnnealingMomentumUpdaterHook(const ConfigNode& cfg)
      : MomentumUpdaterHook(cfg), floor_(cfg, "min_momentum") {}

 protected:
  double regular_momentum(double base_momentum, size_t, double progress, double max_progress) const override {
    return annealing_linear(base_momentum, floor_(base_momentum), progress / max_progress);
  }

 private:
  ScheduleFloor floor_;
};

OSPREY_REGISTER_HOOK(LinearAnnealingMomentumUpdaterHook);

}  // namespace
}  // namespace osprey
