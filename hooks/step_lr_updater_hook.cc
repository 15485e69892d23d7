#include "hooks/lr_updater_hook.h"

namespace osprey {
namespace {

// StepSchedule of the rate. Keys: step, gamma (0.1), min_lr.
class StepLrUpdaterHook final : public LrUpdaterHook {
 public:
  explicit StepLrUpdaterHook(const ConfigNode& cfg)
      : LrUpdaterHook(cfg, std::make_unique<StepSchedule>(cfg, 0.1, "min_lr")) {}
};

OSPREY_REGISTER_HOOK(StepLrUpdaterHook);

}  // namespace
}  // namespace osprey
