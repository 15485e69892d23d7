#include "hooks/momentum_updater_hook.h"

namespace osprey {
namespace {

// CyclicSchedule of the momentum, against the learning rate; target_ratio defaults to [0.85 / 0.95, 1].
class CyclicMomentumUpdaterHook final : public MomentumUpdaterHook {
 public:
  explicit CyclicMomentumUpdaterHook(const ConfigNode& cfg)
      : MomentumUpdaterHook(cfg, std::make_unique<CyclicSchedule>(cfg, 0.85 / 0.95, 1),
                            /*by_epoch_default=*/false) {}
};

OSPREY_REGISTER_HOOK(CyclicMomentumUpdaterHook);

}  // namespace
}  // namespace osprey
