#include "losses/loss.h"

#include <algorithm>

#include "core/ops/elementwise.h"
#include "core/ops/reduce.h"

namespace osprey {

OSPREY_DEFINE_REGISTRY(Loss, "loss");

namespace {

// `weight` (n) repeated along the rows of a loss (n, ...), or as it is when it has the loss's shape.
Tensor expand_weight(const Tensor& weight, const Variable& loss) {
  if (weight.shape() == loss.shape()) return weight.to(loss.dtype()).to(loss.device());
  const Shape& shape = loss.shape();
  OSPREY_REQUIRE(weight.rank() == 1 && !shape.empty() && weight.dim(0) == shape[0],
                 "loss: weight must have the loss's shape ", to_string(shape), " or one number per row, got ",
                 to_string(weight.shape()));
  const Tensor rows = weight.to(kCPU).to(DType::kF64);
  Tensor expanded(shape, DType::kF64);
  const int64_t row_size = weight.empty() ? 0 : loss.numel() / weight.numel();
  double* out = expanded.mutable_data<double>();
  for (int64_t i = 0; i < weight.numel(); ++i) out = std::fill_n(out, row_size, rows.data<double>()[i]);
  return expanded.to(loss.dtype()).to(loss.device());
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
  const Variable weighted =
      weights.weight.defined() ? loss * Variable(expand_weight(weights.weight, loss)) : loss;
  switch (reduction) {
    case Reduction::kNone:
      return weighted;
    case Reduction::kSum:
      OSPREY_REQUIRE(!weights.avg_factor, "loss: avg_factor cannot be combined with reduction 'sum'");
      return sum(weighted);
    case Reduction::kMean:
      if (!weights.avg_factor) return mean(weighted);
      // Nothing to average over is no loss, not 0 / 0.
      return (*weights.avg_factor == 0 ? 0.0 : 1 / *weights.avg_factor) * sum(weighted);
  }
  return {};
}

}  // namespace osprey
