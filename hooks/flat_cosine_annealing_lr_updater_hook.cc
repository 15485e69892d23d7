#include <cmath>

#include "hooks/lr_updater_hook.h"

namespace osprey {
namespace {

// The initial rate for the first start_percent of the run, then half a cosine to the floor. Keys:
// start_percent (0.75), min_lr or min_lr_ratio.
class FlatCosineAnnealingLrUpdaterHook final : public LrUpdaterHook {
 public:
  explicit FlatCosineAnnealingLrUpdaterHook(const ConfigNode& cfg)
      : LrUpdaterHook(cfg),
        start_percent_(cfg.get("start_percent", 0.75, between(0, 1))),
        floor_(cfg, "min_lr") {}

 protected:
  double regular_lr(double base_lr, double progress, double max_progress) const override {
    const double start = std::nearbyint(max_progress * start_percent_);  // half to even, as Python
    if (progress < start || start >= max_progress) return base_lr;
    return annealing_cos(base_lr, floor_(base_lr), (progress - start) / (max_progress - start));
  }

 private:
  double start_percent_;
  ScheduleFloor floor_;
};

OSPREY_REGISTER_HOOK(FlatCosineAnnealingLrUpdaterHook);

}  // namespace
}  // namespace osprey
