#pragma once

#include "core/tensor/device_kernel.h"
#include "core/tensor/tensor.h"

namespace osprey {

// c = op(a) op(b) + bias. Matrices of one floating dtype, not empty; bias (columns of c) or undefined. c may
// be f32 beside halves; it arrives uninitialised.
extern DeviceKernel<void(const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b,
                         const Tensor& bias, Tensor& c)>
    matmul_kernel;

}  // namespace osprey
