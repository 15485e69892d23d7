#include "core/ops/losses.h"

#include <algorithm>

#include "core/ops/elementwise.h"
#include "core/ops/elementwise_kernel.h"
#include "core/ops/losses_kernel.h"
#include "core/ops/map.h"

namespace osprey {

namespace {

Variable widened(const Variable& x) { return is_half(x.dtype()) ? cast(x, DType::kF32) : x; }

// pos_weight (c) repeated for every row of `like` (..., c).
Tensor repeat_rows(const Tensor& pos_weight, const Tensor& like) {
  OSPREY_REQUIRE(like.rank() >= 1 && pos_weight.shape() == Shape{like.dim(-1)},
                 "bce_with_logits: pos_weight must be (", like.dim(-1), "), got ",
                 to_string(pos_weight.shape()));
  const Tensor row = pos_weight.to(kCPU).to(DType::kF64);
  Tensor repeated(like.shape(), DType::kF64);
  double* out = repeated.mutable_data<double>();
  for (int64_t i = 0; i < like.numel(); i += row.numel())
    std::copy_n(row.data<double>(), row.numel(), out + i);
  return repeated.to(like.dtype()).to(like.device());
}

Variable weighted_bce(const Variable& x, const Tensor& targets, const Tensor& pos_weight) {
  const Tensor weight = repeat_rows(pos_weight, x.value());
  return record("bce_with_logits", map<WeightedBce>({x.value(), targets, weight}), {x},
                [logits = x.value(), targets, weight](const Tensor& g) {
                  return Gradients{map<Multiply>({g, map<WeightedBceSlope>({logits, targets, weight})})};
                });
}

}  // namespace

Variable bce_with_logits(const Variable& logits, const Tensor& targets, const Tensor& pos_weight) {
  OSPREY_REQUIRE(logits.shape() == targets.shape(), "bce_with_logits: logits ", to_string(logits.shape()),
                 ", targets ", to_string(targets.shape()));
  const Variable x = widened(logits);
  const Tensor t = targets.to(x.dtype()).to(x.device());
  if (pos_weight.defined()) return weighted_bce(x, t, pos_weight);
  return record("bce_with_logits", map<BceWithLogits>({x.value(), t}), {x},
                [logits = x.value(), t](const Tensor& g) {
                  return Gradients{map<BceWithLogitsGrad>({logits, t, g})};
                });
}

Variable smooth_l1(const Variable& diff, double beta) {
  OSPREY_REQUIRE(beta > 0, "smooth_l1: beta must be > 0, got ", beta);
  const Variable x = widened(diff);
  return record("smooth_l1", map<SmoothL1>({x.value()}, beta), {x}, [d = x.value(), beta](const Tensor& g) {
    return Gradients{map<SmoothL1Grad>({d, g}, beta)};
  });
}

Variable absolute(const Variable& diff) {
  const Variable x = widened(diff);
  return record("absolute", map<Absolute>({x.value()}), {x}, [d = x.value()](const Tensor& g) {
    return Gradients{map<AbsoluteGrad>({d, g})};
  });
}

Variable balanced_l1(const Variable& diff, double alpha, double gamma, double beta) {
  OSPREY_REQUIRE(alpha > 0 && gamma > 0 && beta > 0, "balanced_l1: alpha, gamma, beta must be > 0, got ",
                 alpha, ", ", gamma, ", ", beta);
  const Variable x = widened(diff);
  return record("balanced_l1", map<BalancedL1>({x.value()}, alpha, gamma, beta), {x},
                [d = x.value(), alpha, gamma, beta](const Tensor& g) {
                  return Gradients{map<BalancedL1Grad>({d, g}, alpha, gamma, beta)};
                });
}

Variable sigmoid_focal_loss(const Variable& logits, const Tensor& targets, double gamma, double alpha) {
  OSPREY_REQUIRE(logits.shape() == targets.shape(), "sigmoid_focal_loss: logits ", to_string(logits.shape()),
                 ", targets ", to_string(targets.shape()));
  const Variable x = widened(logits);
  const Tensor t = targets.to(x.dtype()).to(x.device());
  return record("sigmoid_focal_loss", map<FocalLossOf>({x.value(), t}, gamma, alpha), {x},
                [logits = x.value(), t, gamma, alpha](const Tensor& g) {
                  return Gradients{map<FocalLossGrad>({logits, t, g}, gamma, alpha)};
                });
}

}  // namespace osprey
