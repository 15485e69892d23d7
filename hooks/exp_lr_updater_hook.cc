#include <cmath>

#include "hooks/lr_updater_hook.h"

namespace osprey {
namespace {

// base * gamma^progress. Key: gamma.
class ExpLrUpdaterHook final : public LrUpdaterHook {
 public:
  explicit ExpLrUpdaterHook(const ConfigNode& cfg)
      : LrUpdaterHook(cfg), gamma_(cfg.get<double>("gamma", positive())) {}

 protected:
  double regular_lr(double base_lr, double progress, double) const override {
    return base_lr * std::pow(gamma_, progress);
  }

 private:
  double gamma_;
};

OSPREY_REGISTER_HOOK(ExpLrUpdaterHook);

}  // namespace
}  // namespace osprey
