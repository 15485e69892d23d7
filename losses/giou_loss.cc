#include "losses/giou_loss.h"

#include "core/ops/box_losses.h"

namespace osprey {

GIoULoss::GIoULoss(const ConfigNode& cfg) : BoxLoss(cfg, 1e-6) {}

Variable GIoULoss::unreduced(const Variable& pred, const Tensor& target) const {
  return giou_loss(pred, target, eps());
}

OSPREY_REGISTER(Loss, GIoULoss);

}  // namespace osprey
