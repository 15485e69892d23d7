#pragma once

#include "losses/loss.h"

namespace osprey {

// Zhang et al., "VarifocalNet", eq. (2): focal for negatives only; positives weigh by their quality.
// pred (n, c); target: qualities (n, c) in [0, 1], 0 for what is not there. Scalar, or (n, c) when reduction
// is "none".
class VarifocalLoss final : public Loss {
 public:
  // use_sigmoid (true, the only kind there is), alpha (0.75), gamma (2), iou_weighted (true), reduction
  // ("mean"), loss_weight (1).
  explicit VarifocalLoss(const ConfigNode& cfg);
  Variable forward(const Variable& pred, const Tensor& target, const LossWeights& weights) const override;
  bool use_sigmoid() const override { return true; }

 private:
  double alpha_, gamma_;
  bool iou_weighted_;
  Reduction reduction_;
  double loss_weight_;
};

}  // namespace osprey
