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
        gamma_(cfg.get("gamma", 0.1, positive())),
        min_lr_(cfg.get("min_lr", 0.0, non_negative())) {
    const ConfigNode step = cfg["step"];
    if (step.is_list()) {
      milestones_ = step.as<std::vector<int64_t>>(positive());
      if (!std::is_sorted(milestones_.begin(), milestones_.end())) step.fail("milestones must ascend");
    } else {
      interval_ = step.as<int64_t>(positive());
    }
  }

 protected:
  double regular_lr(double base_lr, double progress, double) const override {
    double passed = 0;
    if (interval_ > 0) {
      passed = std::floor(progress / static_cast<double>(interval_));
    } else {
      for (const int64_t milestone : milestones_)
        passed += progress >= static_cast<double>(milestone) ? 1 : 0;
    }
    return std::max(base_lr * std::pow(gamma_, passed), min_lr_);
  }

 private:
  double gamma_;
  double min_lr_;
  int64_t interval_ = 0;
  std::vector<int64_t> milestones_;
};

OSPREY_REGISTER_HOOK(StepLrUpdaterHook);

}  // namespace
}  // namespace osprey
