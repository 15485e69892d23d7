#include "losses/smooth_l1_loss.h"

#include "core/ops/elementwise.h"
#include "core/ops/losses.h"

namespace osprey {

SmoothL1Loss::SmoothL1Loss(const ConfigNode& cfg)
    : beta_(cfg.get("beta", 1.0, positive())),
      reduction_(read_reduction(cfg)),
      loss_weight_(cfg.get("loss_weight", 1.0, non_negative())) {}

Variable SmoothL1Loss::forward(const Variable& pred, const Tensor& target, const LossWeights& weights) const {
  const Variable diff = pred - Variable(target.to(pred.dtype()).to(pred.device()));
  return loss_weight_ * weight_reduce_loss(smooth_l1(diff, beta_), reduction_, weights);
}

OSPREY_REGISTER(Loss, SmoothL1Loss);

}  // namespace osprey
