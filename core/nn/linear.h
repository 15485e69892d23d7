#pragma once

#include "core/nn/weight_layer.h"

namespace osprey {

// torch.nn.Linear.
class Linear final : public WeightLayer {
 public:
  Linear(int64_t in_features, int64_t out_features, bool bias = true);
  // The first layer behind a flattened map (n, h, w, c): the reference flattens (c, h, w), ours (h, w, c).
  Linear(const Shape& map_hwc, int64_t out_features, bool bias = true);
  // x (n, in_features), or (n, h, w, c) -> (n, out_features).
  Variable forward(const Variable& x) const;
};

}  // namespace osprey
