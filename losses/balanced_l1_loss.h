#pragma once

#include "losses/loss.h"

namespace osprey {

// Pang et al., "Libra R-CNN", section 3.3. pred, target: (n, 4) box deltas. Scalar, or (n, 4) when reduction
// is "none".
class BalancedL1Loss final : public Loss {
 public:
  // alpha (0.5), gamma (1.5), beta (1), all > 0; reduction ("mean"), loss_weight (1).
  explicit BalancedL1Loss(const ConfigNode& cfg);
  Variable forward(const Variable& pred, const Tensor& target, const LossWeights& weights) const override;

 private:
  double alpha_, gamma_, beta_;
  Reduction reduction_;
  double loss_weight_;
};

}  // namespace osprey
