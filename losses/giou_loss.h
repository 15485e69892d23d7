#pragma once

#include "losses/box_loss.h"

namespace osprey {

// Rezatofighi et al., "Generalized Intersection over Union": 1 - GIoU.
class GIoULoss final : public BoxLoss {
 public:
  // eps (1e-6), reduction ("mean"), loss_weight (1).
  explicit GIoULoss(const ConfigNode& cfg);

 private:
  Variable unreduced(const Variable& pred, const Tensor& target) const override;
};

}  // namespace osprey
