#include <algorithm>
#include <cmath>

#include "hooks/lr_updater_hook.h"

namespace osprey {
namespace {

// base * gamma^k, k = the number of steps passed. Keys: step (an interval, or a list of milestones), gamma
// (0.1), min_lr (none).
class StepLrUpdaterHook final : public LrUpdaterHook {
 public:
  explicit StepLrUpdaterHook(const ConfigNode& cfg)
      : LrUpdaterHook(cfg),
        steps_(cfg),
        gamma_(cfg.get("gamma", 0.1)),
        min_lr_(cfg.get("min_lr", 0.0, non_negative())) {}

 protected:
  double regular_lr(double base_lr, double progress, double) const override {
    return std::max(base_lr * std::pow(gamma_, steps_.passed(progress)), min_lr_);
  }

 private:
  StepCount steps_;
  double gamma_;
  double min_lr_;
};

OSPREY_REGISTER_HOOK(StepLrUpdaterHook);

}  // namespace
}  // namespace osprey
