#pragma once

#include "losses/box_loss.h"

namespace osprey {

// Zheng et al., "Distance-IoU Loss", eq. (10). Identical boxes give 0 (the reference: NaN).
class CIoULoss final : public BoxLoss {
 public:
  // eps (1e-6), reduction ("mean"), loss_weight (1).
  explicit CIoULoss(const ConfigNode& cfg);

 private:
  Variable unreduced(const Variable& pred, const Tensor& target) const override;
};

}  // namespace osprey
