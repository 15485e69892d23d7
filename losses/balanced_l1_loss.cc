#include "losses/balanced_l1_loss.h"

#include "core/ops/elementwise.h"
#include "core/ops/losses.h"

namespace osprey {

BalancedL1Loss::BalancedL1Loss(const ConfigNode& cfg)
    : alpha_(cfg.get("alpha", 0.5, positive())),
      gamma_(cfg.get("gamma", 1.5, positive())),
      beta_(cfg.get("beta", 1.0, positive())),
      reduction_(read_reduction(cfg)),
      loss_weight_(cfg.get("loss_weight", 1.0, non_negative())) {}

Variable BalancedL1Loss::forward(const Variable& pred, const Tensor& target,
                                 const LossWeights& weights) const {
  const Variable diff = pred - Variable(target.to(pred.dtype()));
  return loss_weight_ * weight_reduce_loss(balanced_l1(diff, alpha_, gamma_, beta_), reduction_, weights);
}

OSPREY_REGISTER(Loss, BalancedL1Loss);

}  // namespace osprey
