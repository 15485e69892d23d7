#pragma once

#include "losses/loss.h"

namespace osprey {

// Li et al., "Generalized Focal Loss", eq. (6): the distance to a box's side as a distribution over 0, 1,
// ..., reg_max; the cross entropies of the two integers beside the true distance, by nearness. pred (n,
// reg_max + 1) logits; target f32 (n) in [0, reg_max). Scalar, or (n) when reduction is "none".
class DistributionFocalLoss final : public Loss {
 public:
  // reduction ("mean"), loss_weight (1).
  explicit DistributionFocalLoss(const ConfigNode& cfg);
  Variable forward(const Variable& pred, const Tensor& target, const LossWeights& weights) const override;

 private:
  Reduction reduction_;
  double loss_weight_;
};

}  // namespace osprey
