#include "losses/quality_focal_loss.h"

#include "core/ops/elementwise.h"
#include "core/ops/quality_losses.h"
#include "core/ops/row_ops.h"

namespace osprey {

QualityFocalLoss::QualityFocalLoss(const ConfigNode& cfg)
    : beta_(cfg.get("beta", 2.0, non_negative())),
      reduction_(read_reduction(cfg)),
      loss_weight_(cfg.get("loss_weight", 1.0, non_negative())) {
  if (!cfg.get("use_sigmoid", true)) cfg["use_sigmoid"].fail("must be true: the loss is per class");
}

Variable QualityFocalLoss::forward(const Variable& pred, const Tensor& target,
                                   const LossWeights& weights) const {
  const bool dense = target.rank() == pred.value().rank();
  const Tensor targets = dense ? target : one_hot(target.to(pred.device()), pred.dim(-1));
  const Variable loss = sum_of_rows(quality_focal_loss(pred, targets, beta_));
  return loss_weight_ * weight_reduce_loss(loss, reduction_, weights);
}

Tensor quality_targets(const Tensor& labels, const Tensor& scores, int64_t classes) {
  return scale_rows(one_hot(labels, classes), scores).value();
}

OSPREY_REGISTER(Loss, QualityFocalLoss);

}  // namespace osprey
