#pragma once

#include <vector>

#include "core/config/config.h"
#include "core/optim/master_parameter.h"

namespace osprey {

// `grad_clip: {max_norm: 35, norm_type: 2}`; absent or null: no clipping.
struct GradClip {
  double max_norm = 0;
  double norm_type = 2;  // 1, 2, any other p > 0, or infinity ('inf' in YAML)
  bool enabled = false;

  static GradClip from(const ConfigNode& cfg);
};

// Norm over all gradients together, accumulated in double in an order that does not depend on the number of
// threads. 0 without gradients; not finite exactly when an element is not.
double grad_norm(const std::vector<MasterParameter*>& params, double norm_type);
// The same in two halves, so that the host may wait once for this and other numbers. The sum f64 (1) is on
// the gradients' device; undefined without gradients.
Tensor start_grad_norm(const std::vector<MasterParameter*>& params, double norm_type);
double finish_grad_norm(double sum, double norm_type);

// torch.nn.utils.clip_grad_norm_: the factor min(1, max_norm / (norm + 1e-6)) for the optimizer's step.
// Requires a finite norm: there is nothing sensible to clip a non-finite one by.
double clip_factor(const GradClip& clip, double norm);

}  // namespace osprey
