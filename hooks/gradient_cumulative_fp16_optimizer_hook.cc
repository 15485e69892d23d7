#include "hooks/fp16_optimizer_hook.h"

namespace osprey {
namespace {

// Fp16OptimizerHook that sums the unscaled f32 gradients of `cumulative_iters` iterations before a step.
class GradientCumulativeFp16OptimizerHook final : public Fp16OptimizerHook {
 public:
  explicit GradientCumulativeFp16OptimizerHook(const ConfigNode& cfg) : Fp16OptimizerHook(cfg) {
    window_ = AccumulationWindow(cfg);
  }
};

OSPREY_REGISTER_HOOK(GradientCumulativeFp16OptimizerHook);

}  // namespace
}  // namespace osprey
