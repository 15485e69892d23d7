#pragma once

#include "losses/loss.h"

namespace osprey {

// What IoULoss, GIoULoss, DIoULoss, CIoULoss and BoundedIoULoss share. pred, target: decoded boxes (n, 4)
// xyxy in pixels. Weights may be (n), or (n, 4) as the heads make them: their mean over the four counts then.
class BoxLoss : public Loss {
 public:
  Variable forward(const Variable& pred, const Tensor& target, const LossWeights& weights) const final;

 protected:
  // eps (given default), reduction ("mean"), loss_weight (1).
  BoxLoss(const ConfigNode& cfg, double default_eps);
  // Losses (n), or (n, 4) that take (n, 4) weights as they are.
  virtual Variable unreduced(const Variable& pred, const Tensor& target) const = 0;
  double eps() const { return eps_; }

 private:
  double eps_;
  Reduction reduction_;
  double loss_weight_;
};

}  // namespace osprey
