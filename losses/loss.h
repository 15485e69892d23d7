#pragma once

#include <optional>
#include <string>

#include "core/autograd/variable.h"
#include "core/nn/module.h"
#include "core/registry/registry.h"

namespace osprey {

enum class Reduction { kNone, kMean, kSum };
Reduction read_reduction(const ConfigNode& cfg);  // key `reduction`, default "mean"

// Weights of the elements of a loss, the number it is divided by, and how it is summed.
struct LossWeights {
  Tensor weight;  // shape of the unreduced loss, or (n) for one weight per row; undefined = 1
  std::optional<double> avg_factor = std::nullopt;  // divisor instead of the element count; with "mean" only
  // Instead of the configured reduction: hard example mining looks at each element.
  std::optional<Reduction> reduction_override = std::nullopt;
};

// A registered loss. Inputs are cast to f32 before any arithmetic: a custom loss is safe in half without
// annotations. `target` means what the loss says: class labels i64 (n), box deltas (n, 4), masks (n, h, w),
// ... A loss with memory (GHMC) keeps it in buffers: they are saved under the head's name for the loss, and
// belong to the iteration's transaction.
class Loss : public Module {
 public:
  virtual Variable forward(const Variable& pred, const Tensor& target, const LossWeights& weights) const = 0;
  Variable operator()(const Variable& pred, const Tensor& target, const LossWeights& weights = {}) const {
    return forward(in_fp32(pred), target, weights);
  }
  // Classification losses: whether scores are per-class sigmoids (then there is no background channel).
  virtual bool use_sigmoid() const { return false; }
  bool keeps_fp32() const override { return true; }

 private:
  static Variable in_fp32(const Variable& pred);  // f64 stays f64
};

// Applies weights, then reduces (mmdetection's weight_reduce_loss): "mean" divides by avg_factor, or by the
// number of elements, whatever the weights; 0 for no elements. avg_factor with "sum" is an error.
Variable weight_reduce_loss(const Variable& loss, Reduction reduction, const LossWeights& weights);

OSPREY_DECLARE_REGISTRY(Loss);

}  // namespace osprey
