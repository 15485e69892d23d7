#pragma once

#include "losses/ghm_loss.h"

namespace osprey {

// GHM-R, eq. (10): authentic smooth L1, sqrt(d^2 + mu^2) - mu, harmonized.
// pred, target: (n, 4) box deltas; weight (n, 4) or (n): what is 0 takes no part. Scalar.
class GHMR final : public GHMLoss {
 public:
  // mu (0.02, > 0), bins (10), momentum (0), loss_weight (1).
  explicit GHMR(const ConfigNode& cfg);
  Variable forward(const Variable& pred, const Tensor& target, const LossWeights& weights) const override;

 private:
  double mu_;
};

}  // namespace osprey
