#include "hooks/momentum_updater_hook.h"

namespace osprey {
namespace {

// StepSchedule of the momentum. Keys: step, gamma (0.5), min_momentum.
class StepMomentumUpdaterHook final : public MomentumUpdaterHook {
 public:
  explicit StepMomentumUpdaterHook(const ConfigNode& cfg)
      : MomentumUpdaterHook(cfg, std::make_unique<StepSchedule>(cfg, 0.5, "min_momentum")) {}
};

OSPREY_REGISTER_HOOK(StepMomentumUpdaterHook);

}  // namespace
}  // namespace osprey
