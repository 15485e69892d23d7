#pragma once

#include "losses/loss.h"

namespace osprey {

// (pred - target)^2, of any shape. Scalar, or the shape of pred when reduction is "none".
class MSELoss final : public Loss {
 public:
  // reduction ("mean"), loss_weight (1).
  explicit MSELoss(const ConfigNode& cfg);
  Variable forward(const Variable& pred, const Tensor& target, const LossWeights& weights) const override;

 private:
  Reduction reduction_;
  double loss_weight_;
};

}  // namespace osprey
