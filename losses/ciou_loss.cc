#include "losses/ciou_loss.h"

#include "core/ops/box_losses.h"

namespace osprey {

CIoULoss::CIoULoss(const ConfigNode& cfg) : BoxLoss(cfg, 1e-6) {}

Variable CIoULoss::unreduced(const Variable& pred, const Tensor& target) const {
  return ciou_loss(pred, target, eps());
}

OSPREY_REGISTER(Loss, CIoULoss);

}  // namespace osprey
