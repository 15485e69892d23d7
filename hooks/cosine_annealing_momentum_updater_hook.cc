#include "hooks/momentum_updater_hook.h"

namespace osprey {
namespace {

// Half a cosine from the initial momentum to the floor. Keys: min_momentum or min_momentum_ratio.
class CosineAnnealingMomentumUpdaterHook final : public MomentumUpdaterHook {
 public:
  explicit CosineAnnealingMomentumUpdaterHook(const ConfigNode& cfg)
      : MomentumUpdaterHook(
            cfg, std::make_unique<AnnealingSchedule>(cfg, annealing_half_cosine, "min_momentum")) {}
};

OSPREY_REGISTER_HOOK(CosineAnnealingMomentumUpdaterHook);

}  // namespace
}  // namespace osprey
