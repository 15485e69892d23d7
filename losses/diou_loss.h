#pragma once

#include "losses/box_loss.h"

namespace osprey {

// Zheng et al., "Distance-IoU Loss", eq. (7).
class DIoULoss final : public BoxLoss {
 public:
  // eps (1e-6), reduction ("mean"), loss_weight (1).
  explicit DIoULoss(const ConfigNode& cfg);

 private:
  Variable unreduced(const Variable& pred, const Tensor& target) const override;
};

}  // namespace osprey
