#include "hooks/lr_updater_hook.h"

namespace osprey {
namespace {

// CyclicSchedule of the rate; target_ratio defaults to [10, 1e-4].
class CyclicLrUpdaterHook final : public LrUpdaterHook {
 public:
  explicit CyclicLrUpdaterHook(const ConfigNode& cfg)
      : LrUpdaterHook(cfg, std::make_unique<CyclicSchedule>(cfg, 10, 1e-4), /*by_epoch_default=*/false) {}
};

OSPREY_REGISTER_HOOK(CyclicLrUpdaterHook);

}  // namespace
}  // namespace osprey
