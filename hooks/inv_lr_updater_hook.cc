#include <cmath>

#include "hooks/lr_updater_hook.h"

namespace osprey {
namespace {

// base (1 + gamma * progress)^-power. Keys: gamma, power (1).
class InvLrUpdaterHook final : public LrUpdaterHook {
 public:
  explicit InvLrUpdaterHook(const ConfigNode& cfg)
      : LrUpdaterHook(cfg),
        gamma_(cfg.get<double>("gamma", positive())),
        power_(cfg.get("power", 1.0, positive())) {}

 protected:
  double regular_lr(double base_lr, double progress, double) const override {
    return base_lr * std::pow(1 + gamma_ * progress, -power_);
  }

 private:
  double gamma_;
  double power_;
};

OSPREY_REGISTER_HOOK(InvLrUpdaterHook);

}  // namespace
}  // namespace osprey
