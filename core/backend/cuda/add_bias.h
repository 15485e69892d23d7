#pragma once

#include "core/tensor/tensor.h"

namespace osprey {

// y[..., c] += bias[c] on CUDA. Floating dtypes, not necessarily the same; the sum is computed in f32.
void add_bias_cuda(const Tensor& bias, Tensor& y);

}  // namespace osprey
