#include "core/nn/group_norm.h"

#include "core/ops/norm.h"

namespace osprey {

GroupNorm::GroupNorm(const ConfigNode& norm_cfg, int64_t num_features)
    : NormLayer(num_features),
      num_groups_(norm_cfg.get<int64_t>("num_groups", positive())),
      eps_(norm_cfg.get("eps", 1e-5, positive())) {
  if (num_groups_ < 1 || num_features % num_groups_ != 0) {
    norm_cfg.fail(
        str_cat("num_groups ", num_groups_, " does not divide the layer's ", num_features, " channels"));
  }
}

Variable GroupNorm::forward(const Variable& x) const {
  const ModuleScope scope(path());
  return group_norm(x, *weight_, *bias_, num_groups_, eps_);
}

}  // namespace osprey
