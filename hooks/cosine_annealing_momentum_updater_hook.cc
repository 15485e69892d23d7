#include "hooks/momentum_updater_hook.h"

namespace osprey {
namespace {

// Half a cosine from the initial momentum to the floor. Keys: min_momentum or min_momentum_ratio.
class CosineAnnealingMomentumUpdaterHook final : public MomentumUpdaterHook {
 public:
  explicit CosineAnnealingMomentumUpdaterHook(const ConfigNode& cfg)
      : MomentumUpdaterHook(cfg), floor_(cfg, "min_momentum") {}

 protected:
  double regular_momentum(double base_momentum, size_t, double progress, double max_progress) const override {
    return annealing_cos(base_momentum, floor_(base_momentum), progress / max_progress);
  }

 private:
  ScheduleFloor floor_;
};

OSPREY_REGISTER_HOOK(CosineAnnealingMomentumUpdaterHook);

}  // namespace
}  // namespace osprey
