#include "hooks/lr_updater_hook.h"

namespace osprey {
namespace {

// A straight line from the initial rate to the floor. Keys: min_lr or min_lr_ratio.
class LinearAnnealingLrUpdaterHook final : public LrUpdaterHook {
 public:
  explicit LinearAnnealingLrUpdaterHook(const ConfigNode& cfg)
      : LrUpdaterHook(cfg, std::make_unique<AnnealingSchedule>(cfg, annealing_linear, "min_lr")) {}
};

OSPREY_REGISTER_HOOK(LinearAnnealingLrUpdaterHook);

}  // namespace
}  // namespace osprey
