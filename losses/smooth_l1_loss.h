#pragma once

#include "losses/loss.h"

namespace osprey {

// Girshick, "Fast R-CNN", eq. (3), with the knee at beta: d^2 / (2 beta) below, |d| - beta / 2 above.
// pred, target: (n, 4) box deltas. Scalar, or (n, 4) when reduction is "none".
class SmoothL1Loss final : public Loss {
 public:
  // beta (1, > 0), reduction ("mean"), loss_weight (1).
  explicit SmoothL1Loss(const ConfigNode& cfg);
  Variable forward(const Variable& pred, const Tensor& target, const LossWeights& weights) const override;

 private:
  double beta_;
  Reduction reduction_;
  double loss_weight_;
};

}  // namespace osprey
