#include "hooks/lr_updater_hook.h"

namespace osprey {
namespace {

// Half a cosine from the initial rate to the floor. Keys: min_lr or min_lr_ratio.
class CosineAnnealingLrUpdaterHook final : public LrUpdaterHook {
 public:
  explicit CosineAnnealingLrUpdaterHook(const ConfigNode& cfg)
      : LrUpdaterHook(cfg, std::make_unique<AnnealingSchedule>(cfg, annealing_half_cosine, "min_lr")) {}
};

OSPREY_REGISTER_HOOK(CosineAnnealingLrUpdaterHook);

}  // namespace
}  // namespace osprey
