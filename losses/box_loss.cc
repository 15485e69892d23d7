#include "losses/box_loss.h"

#include "core/ops/elementwise.h"
#include "core/ops/row_ops.h"

namespace osprey {

BoxLoss::BoxLoss(const ConfigNode& cfg, double default_eps)
    : eps_(cfg.get("eps", default_eps, positive())),
      reduction_(read_reduction(cfg)),
      loss_weight_(cfg.get("loss_weight", 1.0, non_negative())) {}

Variable BoxLoss::forward(const Variable& pred, const Tensor& target, const LossWeights& weights) const {
  const Variable loss = unreduced(pred, target);
  LossWeights per_box = weights;
  if (weights.weight.defined() && weights.weight.rank() == 2 && loss.value().rank() == 1) {
    OSPREY_REQUIRE(weights.weight.shape() == pred.shape(), "box loss: weight must be (n) or ",
                   to_string(pred.shape()), ", got ", to_string(weights.weight.shape()));
    per_box.weight = mean_of_rows(weights.weight.to(loss.dtype()).to(loss.device()));
  }
  return loss_weight_ * weight_reduce_loss(loss, reduction_, per_box);
}

}  // namespace osprey
