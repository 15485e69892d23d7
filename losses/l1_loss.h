#pragma once

#include "losses/loss.h"

namespace osprey {

// |pred - target|, gradient 0 where they are equal. pred, target: (n, 4) box deltas. Scalar, or (n, 4) when
// reduction is "none".
class L1Loss final : public Loss {
 public:
  // reduction ("mean"), loss_weight (1).
  explicit L1Loss(const ConfigNode& cfg);
  Variable forward(const Variable& pred, const Tensor& target, const LossWeights& weights) const override;

 private:
  Reduction reduction_;
  double loss_weight_;
};

}  // namespace osprey
