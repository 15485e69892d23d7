#pragma once

#include "losses/ghm_loss.h"

namespace osprey {

// GHM-C, eq. (7): binary cross entropy of every class, harmonized.
// pred (n, c); target: labels (n), where a label outside [0, c) is background, or 0/1 targets (n, c). weight
// (n) or (n, c): what is 0 takes no part. Scalar.
class GHMC final : public GHMLoss {
 public:
  // bins (10), momentum (0), use_sigmoid (true, the only kind there is), loss_weight (1).
  explicit GHMC(const ConfigNode& cfg);
  Variable forward(const Variable& pred, const Tensor& target, const LossWeights& weights) const override;
  bool use_sigmoid() const override { return true; }
};

}  // namespace osprey
