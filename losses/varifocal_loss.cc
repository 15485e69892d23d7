#include "losses/varifocal_loss.h"

#include "core/ops/elementwise.h"
#include "core/ops/quality_losses.h"

namespace osprey {

VarifocalLoss::VarifocalLoss(const ConfigNode& cfg)
    : alpha_(cfg.get("alpha", 0.75, non_negative())),
      gamma_(cfg.get("gamma", 2.0, non_negative())),
      iou_weighted_(cfg.get("iou_weighted", true)),
      reduction_(read_reduction(cfg)),
      loss_weight_(cfg.get("loss_weight", 1.0, non_negative())) {
  if (!cfg.get("use_sigmoid", true)) cfg["use_sigmoid"].fail("must be true: the loss is per class");
}

Variable VarifocalLoss::forward(const Variable& pred, const Tensor& target,
                                const LossWeights& weights) const {
  return loss_weight_ *
         weight_reduce_loss(varifocal_loss(pred, target, alpha_, gamma_, iou_weighted_), reduction_, weights);
}

OSPREY_REGISTER(Loss, VarifocalLoss);

}  // namespace osprey
