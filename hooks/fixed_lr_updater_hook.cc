#include "hooks/lr_updater_hook.h"

namespace osprey {
namespace {

// The initial rate throughout.
class FixedLrUpdaterHook final : public LrUpdaterHook {
 public:
  explicit FixedLrUpdaterHook(const ConfigNode& cfg) : LrUpdaterHook(cfg) {}

 protected:
  double regular_lr(double base_lr, double, double) const override { return base_lr; }
};

OSPREY_REGISTER_HOOK(FixedLrUpdaterHook);

}  // namespace
}  // namespace osprey
