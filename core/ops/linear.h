#pragma once

#include "core/autograd/variable.h"

namespace osprey {

// y = x weight^T + bias. x (n, ...) seen as (n, in), weight (out, in), bias (out) or undefined. Returns (n,
// out) in the weight's dtype; x is cast to it. A map (n, h, w, c) is taken in its stored order: see
// WeightLayout::kLinearMap.
Variable linear(const Variable& x, const Variable& weight, const Variable& bias);

// c = op(a) op(b) for matrices, accumulated in f32 for the halves. No gradient.
Tensor matmul(const Tensor& a, const Tensor& b, bool transpose_a = false, bool transpose_b = false);

}  // namespace osprey
