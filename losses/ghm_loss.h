#pragma once

#include "losses/loss.h"

namespace osprey {

// What GHMC and GHMR share (Li et al., "Gradient Harmonized Single-stage Detector"): examples are sorted into
// bins by the length of their gradient, and each bin's examples share one vote. So the loss needs neither
// avg_factor nor a reduction; both are ignored, as in mmdetection.
//
// State, in buffers of mmdetection's names: edges f32 (bins + 1), and with momentum > 0 acc_sum f32 (bins),
// the moving average of the number of examples in each bin.
class GHMLoss : public Loss {
 protected:
  // bins (10, > 0), momentum (0, below 1), loss_weight (1). The last bin ends at `last_edge`.
  GHMLoss(const ConfigNode& cfg, double last_edge);
  // loss_weight * sum of losses times the harmonizing weights; all of one shape. Elements whose weight is 0
  // do not count.
  Variable harmonized(const Variable& loss, const Tensor& gradient_lengths, const Tensor& weight) const;

 private:
  double momentum_, loss_weight_;
  Buffer* edges_;
  Buffer* acc_sum_ = nullptr;
};

// `weight` in the shape of `like` (n, c): itself, (n) repeated along the rows, or ones when undefined.
Tensor weight_of_each(const Tensor& weight, const Tensor& like);

}  // namespace osprey
