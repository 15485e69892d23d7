#include <algorithm>
#include <cmath>

#include "hooks/momentum_updater_hook.h"

namespace osprey {
namespace {

// base * gamma^k, k = the number of steps passed. Keys: step (an interval, or a list of milestones), gamma
// (0.5), min_momentum (none).
class StepMomentumUpdaterHook final : public MomentumUpdaterHook {
 public:
  explicit StepMomentumUpdaterHook(const ConfigNode& cfg)
      : MomentumUpdaterHook(cfg),
        steps_(cfg),
        gamma_(cfg.get("gamma", 0.5)),
        min_momentum_(cfg.get("min_momentum", 0.0, non_negative())) {}

 protected:
  double regular_momentum(double base_momentum, size_t, double progress, double) const override {
    return std::max(base_momentum * std::pow(gamma_, steps_.passed(progress)), min_momentum_);
  }

 private:
  StepCount steps_;
  double gamma_;
  double min_momentum_;
};

OSPREY_REGISTER_HOOK(StepMomentumUpdaterHook);

}  // namespace
}  // namespace osprey
