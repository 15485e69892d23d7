#include "losses/l1_loss.h"

#include "core/ops/elementwise.h"
#include "core/ops/losses.h"

namespace osprey {

L1Loss::L1Loss(const ConfigNode& cfg)
    : reduction_(read_reduction(cfg)), loss_weight_(cfg.get("loss_weight", 1.0, non_negative())) {}

Variable L1Loss::forward(const Variable& pred, const Tensor& target, const LossWeights& weights) const {
  const Variable diff = pred - Variable(target.to(pred.dtype()).to(pred.device()));
  return loss_weight_ * weight_reduce_loss(absolute(diff), reduction_, weights);
}

OSPREY_REGISTER(Loss, L1Loss);

}  // namespace osprey
