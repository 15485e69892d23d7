#pragma once

#include "core/nn/norm_layer.h"

namespace osprey {

// Wu & He, "Group Normalization".
class GroupNorm final : public NormLayer {
 public:
  GroupNorm(const ConfigNode& norm_cfg, int64_t num_features);  // num_groups, eps 1e-5
  Variable forward(const Variable& x) const override;

 private:
  int64_t num_groups_;
  double eps_;
};

}  // namespace osprey
