#include "core/nn/linear.h"

#include "core/nn/input_check.h"
#include "core/ops/linear.h"

namespace osprey {

Linear::Linear(int64_t in_features, int64_t out_features, bool bias)
    : WeightLayer({out_features, in_features}, {}, bias ? out_features : 0) {}

Linear::Linear(const Shape& map_hwc, int64_t out_features, bool bias)
    : WeightLayer({out_features, numel_of(map_hwc)}, {WeightLayout::kLinearMap, map_hwc[0], map_hwc[1]},
                  bias ? out_features : 0) {}

Variable Linear::forward(const Variable& x) const {
  const ModuleScope scope(path());
  if (x.dim(0) > 0) check_input_features(*this, "features", weight().variable.dim(1), x.numel() / x.dim(0));
  return linear(x, weight(), bias_variable());
}

}  // namespace osprey
