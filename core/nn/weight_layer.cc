#include "core/nn/weight_layer.h"

#include <cmath>

#include "core/nn/init.h"
#include "core/ops/elementwise.h"

namespace osprey {

WeightLayer::WeightLayer(Shape weight_shape, WeightLayout layout, int64_t bias_size)
    : weight_(add_parameter("weight", Tensor::zeros(std::move(weight_shape), DType::kF32), layout)) {
  if (bias_size > 0) bias_ = add_parameter("bias", Tensor::zeros({bias_size}, DType::kF32));
}

void WeightLayer::init_weights(uint64_t seed) {
  const double bound = 1 / std::sqrt(static_cast<double>(fans_of(*weight_).in));
  fill_uniform(*weight_, parameter_rng(seed, path() + ".weight"), bound);
  if (bias_) fill_uniform(*bias_, parameter_rng(seed, path() + ".bias"), bound);
}

const Variable& WeightLayer::bias_variable() const {
  static const Variable none;
  return bias_ ? bias_->variable : none;
}

Variable ConvLayer::forward_relu(const Variable& x) const {
  const Variable y = forward(x);
  const ModuleScope scope(path());
  return relu(y);
}

}  // namespace osprey
