#include "losses/mse_loss.h"

#include "core/ops/elementwise.h"

namespace osprey {

MSELoss::MSELoss(const ConfigNode& cfg)
    : reduction_(read_reduction(cfg)), loss_weight_(cfg.get("loss_weight", 1.0, non_negative())) {}

Variable MSELoss::forward(const Variable& pred, const Tensor& target, const LossWeights& weights) const {
  const Variable diff = pred - Variable(target.to(pred.dtype()));
  return loss_weight_ * weight_reduce_loss(diff * diff, reduction_, weights);
}

OSPREY_REGISTER(Loss, MSELoss);

}  // namespace osprey
