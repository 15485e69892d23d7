#pragma once

#include "losses/box_loss.h"

namespace osprey {

// Tychsen-Smith and Petersson, "Improving Object Localization with Fitness NMS and Bounded IoU Loss", section
// 4: one loss per x, y, w, h; (n, 4) when reduction is "none".
class BoundedIoULoss final : public BoxLoss {
 public:
  // beta (0.2), eps (1e-3), reduction ("mean"), loss_weight (1).
  explicit BoundedIoULoss(const ConfigNode& cfg);

 private:
  Variable unreduced(const Variable& pred, const Tensor& target) const override;

  double beta_;
};

}  // namespace osprey
