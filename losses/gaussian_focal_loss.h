#pragma once

#include "losses/loss.h"

namespace osprey {

// Law and Deng, "CornerNet", eq. (1): heat maps of object centres or corners, where a miss near an object
// counts less. pred: probabilities in [0, 1], not logits; target: heat map in [0, 1] of the same shape, 1 at
// the objects. Scalar, or pred's shape when reduction is "none".
class GaussianFocalLoss final : public Loss {
 public:
  // alpha (2), gamma (4), both >= 1; reduction ("mean"), loss_weight (1).
  explicit GaussianFocalLoss(const ConfigNode& cfg);
  Variable forward(const Variable& pred, const Tensor& target, const LossWeights& weights) const override;

 private:
  double alpha_, gamma_;
  Reduction reduction_;
  double loss_weight_;
};

}  // namespace osprey
