#include "losses/bounded_iou_loss.h"

#include "core/ops/box_losses.h"

namespace osprey {

BoundedIoULoss::BoundedIoULoss(const ConfigNode& cfg)
    : BoxLoss(cfg, 1e-3), beta_(cfg.get("beta", 0.2, positive())) {}

Variable BoundedIoULoss::unreduced(const Variable& pred, const Tensor& target) const {
  return bounded_iou_loss(pred, target, beta_, eps());
}

OSPREY_REGISTER(Loss, BoundedIoULoss);

}  // namespace osprey
