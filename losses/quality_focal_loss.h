#pragma once

#include "losses/loss.h"

namespace osprey {

// Li et al., "Generalized Focal Loss", section 3.3: one sigmoid per class says both that the class is there
// and how good its box is (its IoU).
// pred (n, c); target: qualities (n, c), quality_targets() makes them; or labels (n), which ask for
// quality 1. Scalar, or (n), summed over the classes, when reduction is "none"; weights are per row.
class QualityFocalLoss final : public Loss {
 public:
  // use_sigmoid (true, the only kind there is), beta (2), reduction ("mean"), loss_weight (1).
  explicit QualityFocalLoss(const ConfigNode& cfg);
  Variable forward(const Variable& pred, const Tensor& target, const LossWeights& weights) const override;
  bool use_sigmoid() const override { return true; }

 private:
  double beta_;
  Reduction reduction_;
  double loss_weight_;
};

// f32 (n, classes): the score (n) of each row at its label (n), 0 elsewhere and for background. mmdetection
// hands its loss the pair.
Tensor quality_targets(const Tensor& labels, const Tensor& scores, int64_t classes);

}  // namespace osprey
