#include "losses/focal_loss.h"

#include "core/ops/elementwise.h"
#include "core/ops/losses.h"
#include "core/ops/row_ops.h"

namespace osprey {

FocalLoss::FocalLoss(const ConfigNode& cfg)
    : gamma_(cfg.get("gamma", 2.0, non_negative())),
      alpha_(cfg.get("alpha", 0.25, between(0, 1))),
      reduction_(read_reduction(cfg)),
      loss_weight_(cfg.get("loss_weight", 1.0, non_negative())) {
  if (!cfg.get("use_sigmoid", true)) cfg["use_sigmoid"].fail("must be true: focal loss is per class");
}

Variable FocalLoss::forward(const Variable& pred, const Tensor& target, const LossWeights& weights) const {
  const bool dense = target.rank() == pred.value().rank();
  const Tensor targets = dense ? target : one_hot(target.to(pred.device()), pred.dim(-1));
  return loss_weight_ *
         weight_reduce_loss(sigmoid_focal_loss(pred, targets, gamma_, alpha_), reduction_, weights);
}

OSPREY_REGISTER(Loss, FocalLoss);

}  // namespace osprey
