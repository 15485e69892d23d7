#pragma once

#include "losses/loss.h"

namespace osprey {

// Lin et al., "Focal Loss for Dense Object Detection", eq. (5), per class and sigmoid.
// pred (n, c); target: labels (n), where a label outside [0, c) is background, or 0/1 targets (n, c).
// Scalar, or (n, c) when reduction is "none".
class FocalLoss final : public Loss {
 public:
  // use_sigmoid (true, the only kind there is), gamma (2), alpha (0.25), reduction ("mean"), loss_weight (1).
  explicit FocalLoss(const ConfigNode& cfg);
  Variable forward(const Variable& pred, const Tensor& target, const LossWeights& weights) const override;
  bool use_sigmoid() const override { return true; }

 private:
  double gamma_, alpha_;
  Reduction reduction_;
  double loss_weight_;
};

}  // namespace osprey
