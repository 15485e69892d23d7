#include "losses/iou_loss.h"

#include "core/ops/box_losses.h"

namespace osprey {

IoULoss::IoULoss(const ConfigNode& cfg) : BoxLoss(cfg, 1e-6), linear_(cfg.get("linear", false)) {}

Variable IoULoss::unreduced(const Variable& pred, const Tensor& target) const {
  return iou_loss(pred, target, linear_, eps());
}

OSPREY_REGISTER(Loss, IoULoss);

}  // namespace osprey
