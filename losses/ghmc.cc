#include "losses/ghmc.h"

#include "core/ops/gradient_harmonizing.h"
#include "core/ops/losses.h"
#include "core/ops/row_ops.h"

namespace osprey {

GHMC::GHMC(const ConfigNode& cfg) : GHMLoss(cfg, /*last_edge=*/1 + 1e-6) {
  if (!cfg.get("use_sigmoid", true)) cfg["use_sigmoid"].fail("must be true: the loss is per class");
}

Variable GHMC::forward(const Variable& pred, const Tensor& target, const LossWeights& weights) const {
  const Tensor labels = target.to(pred.device());
  const Tensor targets =
      (labels.rank() == pred.value().rank() ? labels : one_hot(labels, pred.dim(-1))).to(pred.dtype());
  return harmonized(bce_with_logits(pred, targets), gradient_length_of_logits(pred.value(), targets),
                    weight_of_each(weights.weight, pred.value()));
}

OSPREY_REGISTER(Loss, GHMC);

}  // namespace osprey
