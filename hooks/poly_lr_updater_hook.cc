#include <cmath>

#include "hooks/lr_updater_hook.h"

namespace osprey {
namespace {

// (base - min_lr) (1 - progress / max)^power + min_lr. Keys: power (1), min_lr (0).
class PolyLrUpdaterHook final : public LrUpdaterHook {
 public:
  explicit PolyLrUpdaterHook(const ConfigNode& cfg)
      : LrUpdaterHook(cfg),
        power_(cfg.get("power", 1.0, positive())),
        min_lr_(cfg.get("min_lr", 0.0, non_negative())) {}

 protected:
  double regular_lr(double base_lr, double progress, double max_progress) const override {
    return (base_lr - min_lr_) * std::pow(1 - progress / max_progress, power_) + min_lr_;
  }

 private:
  double power_;
  double min_lr_;
};

OSPREY_REGISTER_HOOK(PolyLrUpdaterHook);

}  // namespace
}  // namespace osprey
