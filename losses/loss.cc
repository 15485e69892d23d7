#include "losses/loss.h"

#include "core/ops/elementwise.h"
#include "core/ops/reduce.h"
#include "core/ops/row_ops.h"

namespace osprey {

OSPREY_DEFINE_REGISTRY(Loss, "loss");

namespace {

// `weight` of the loss's shape, or (n) for the rows of a loss (n, ...).
Variable weighted(const Variable& loss, const Tensor& weight) {
  if (weight.shape() == loss.shape()) return loss * Variable(weight.to(loss.dtype()).to(loss.device()));
  const Shape& shape = loss.shape();
  OSPREY_REQUIRE(weight.rank() == 1 && !shape.empty() && weight.dim(0) == shape[0],
                 "loss: weight must have the loss's shape ", to_string(shape), " or one number per row, got ",
                 to_string(weight.shape()));
  return scale_rows(loss, weight);
}

}  // namespace

Variable Loss::in_fp32(const Variable& pred) {
  return is_half(pred.dtype()) ? cast(pred, DType::kF32) : pred;
}

Reduction read_reduction(const ConfigNode& cfg) {
  const std::string name = cfg.choice("reduction", "mean", {"none", "mean", "sum"});
  return name == "none" ? Reduction::kNone : name == "sum" ? Reduction::kSum : Reduction::kMean;
}

Variable weight_reduce_loss(const Variable& loss, Reduction reduction, const LossWeights& weights) {
  const Variable each = weights.weight.defined() ? weighted(loss, weights.weight) : loss;
  switch (weights.reduction_override.value_or(reduction)) {
    case Reduction::kNone:
      return each;
    case Reduction::kSum:
      OSPREY_REQUIRE(!weights.avg_factor, "loss: avg_factor cannot be combined with reduction 'sum'");
      return sum(each);
    case Reduction::kMean:
      if (!weights.avg_factor) return mean(each);
      // Nothing to average over is no loss, not 0 / 0.
      return (*weights.avg_factor == 0 ? 0.0 : 1 / *weights.avg_factor) * sum(each);
  }
  return {};
}

}  // namespace osprey
