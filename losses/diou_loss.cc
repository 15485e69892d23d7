#include "losses/diou_loss.h"

#include "core/ops/box_losses.h"

namespace osprey {

DIoULoss::DIoULoss(const ConfigNode& cfg) : BoxLoss(cfg, 1e-6) {}

Variable DIoULoss::unreduced(const Variable& pred, const Tensor& target) const {
  return diou_loss(pred, target, eps());
}

OSPREY_REGISTER(Loss, DIoULoss);

}  // namespace osprey
