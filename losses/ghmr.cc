#include "losses/ghmr.h"

#include "core/ops/elementwise.h"
#include "core/ops/gradient_harmonizing.h"
#include "core/ops/quality_losses.h"

namespace osprey {

GHMR::GHMR(const ConfigNode& cfg) : GHMLoss(cfg, /*last_edge=*/1e3), mu_(cfg.get("mu", 0.02, positive())) {}

Variable GHMR::forward(const Variable& pred, const Tensor& target, const LossWeights& weights) const {
  const Variable diff = pred - Variable(target.to(pred.dtype()).to(pred.device()));
  return harmonized(authentic_smooth_l1(diff, mu_), gradient_length_of_diffs(diff.value(), mu_),
                    weight_of_each(weights.weight, pred.value()));
}

OSPREY_REGISTER(Loss, GHMR);

}  // namespace osprey
