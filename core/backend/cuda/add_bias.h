#pragma once

#include "core/tensor/tensor.h"

namespace osprey {

// y[..., c] += bias[c] on CUDA. Floating dtypes, not necessarily the same; the sum is computed in f32.
void add_bias_cuda(const Tensor& bias, Tensor& y);

// y[..., c] = relu(y[..., c] + bias[c]), without a bias relu(y). NaN stays NaN.
void add_bias_relu_cuda(const Tensor& bias_or_none, Tensor& y);

}  // namespace osprey
