#include "hooks/lr_updater_hook.h"

namespace osprey {
namespace {

// Half a cosine from the initial rate to the floor. Keys: min_lr or min_lr_ratio.
class CosineAnnealingLrUpdaterHook final : public LrUpdaterHook {
 public:
  explicit CosineAnnealingLrUpdaterHook(const ConfigNode& cfg) : LrUpdaterHook(cfg), floor_(cfg, "min_lr") {}

 protected:
  double regular_lr(double base_lr, double progress, double max_progress) const override {
    return annealing_cos(base_lr, floor_(base_lr), progress / max_progress);
  }

 private:
  ScheduleFloor floor_;
};

OSPREY_REGISTER_HOOK(CosineAnnealingLrUpdaterHook);

}  // namespace
}  // namespace osprey
