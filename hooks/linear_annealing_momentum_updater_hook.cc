#include "hooks/momentum_updater_hook.h"

namespace osprey {
namespace {

// A straight line from the initial momentum to the floor. Keys: min_momentum or min_momentum_ratio.
class LinearAnnealingMomentumUpdaterHook final : public MomentumUpdaterHook {
 public:
  explicit LinearAnnealingMomentumUpdaterHook(const ConfigNode& cfg)
      : MomentumUpdaterHook(cfg, std::make_unique<AnnealingSchedule>(cfg, annealing_linear, "min_momentum")) {
  }
};

OSPREY_REGISTER_HOOK(LinearAnnealingMomentumUpdaterHook);

}  // namespace
}  // namespace osprey
