#pragma once

#include <optional>
#include <string>

#include "core/autograd/variable.h"
#include "core/registry/registry.h"

namespace osprey {

// Weights of the elements of a loss and the number it is divided by.
struct LossWeights {
  Tensor weight;  // shape of the unreduced loss, or (n) for one weight per row; undefined = 1
  std::optional<double> avg_factor;  // divisor instead of the element count; only with reduction "mean"
};

// A registered loss. Inputs are cast to f32 before any arithmetic: a custom loss is safe in half without
// annotations. `target` means what the loss says: class labels i64 (n), box deltas (n, 4), masks (n, h, w),
// ...
class Loss {
 public:
  virtual ~Loss() = default;
  virtual Variable forward(const Variable& pred, const Tensor& target, const LossWeights& weights) const = 0;
  Variable operator()(const Variable& pred, const Tensor& target, const LossWeights& weights = {}) const {
    return forward(in_fp32(pred), target, weights);
  }
  // Classification losses: whether scores are per-class sigmoids (then there is no background channel).
  virtual bool use_sigmoid() const { return false; }

 private:
  static Variable in_fp32(const Variable& pred);  // f64 stays f64
};

enum class Reduction { kNone, kMean, kSum };
Reduction read_reduction(const ConfigNode& cfg);  // key `reduction`, default "mean"

// Applies weights, then reduces (mmdetection's weight_reduce_loss): "mean" divides by avg_factor, or by the
// number of elements, whatever the weights; 0 for no elements. avg_factor with "sum" is an error.
Variable weight_reduce_loss(const Variable& loss, Reduction reduction, const LossWeights& weights);

OSPREY_DECLARE_REGISTRY(Loss);

}  // namespace osprey
