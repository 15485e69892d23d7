#pragma once

#include "losses/box_loss.h"

namespace osprey {

// Yu et al., "UnitBox": -log IoU, or 1 - IoU when linear; the IoU is floored at eps.
class IoULoss final : public BoxLoss {
 public:
  // linear (false), eps (1e-6), reduction ("mean"), loss_weight (1).
  explicit IoULoss(const ConfigNode& cfg);

 private:
  Variable unreduced(const Variable& pred, const Tensor& target) const override;

  bool linear_;
};

}  // namespace osprey
