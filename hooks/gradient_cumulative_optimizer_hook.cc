#include "hooks/optimizer_hook.h"

namespace osprey {
namespace {

// OptimizerHook that sums the gradients of `cumulative_iters` iterations before a step.
class GradientCumulativeOptimizerHook final : public OptimizerHook {
 public:
  explicit GradientCumulativeOptimizerHook(const ConfigNode& cfg) : OptimizerHook(cfg) {
    window_ = AccumulationWindow(cfg);
  }
};

OSPREY_REGISTER_HOOK(GradientCumulativeOptimizerHook);

}  // namespace
}  // namespace osprey
