#pragma once

#include "core/tensor/device_kernel.h"
#include "core/tensor/tensor.h"

namespace osprey {

// op(a) op(b) + bias: matrices of one floating dtype, not empty.
struct MatmulArgs {
  Tensor a, b;
  bool transpose_a = false, transpose_b = false;
  Tensor bias;               // (columns of the result) or undefined
  bool b_is_weight = false;  // used again and again: what is derived from b is kept with its storage
};

// c arrives uninitialised; it may be f32 beside halves.
extern DeviceKernel<void(const MatmulArgs& args, Tensor& c)> matmul_kernel;

}  // namespace osprey
