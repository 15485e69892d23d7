#pragma once

#include <vector>

#include "core/tensor/device_kernel.h"
#include "core/tensor/tensor.h"

namespace osprey {

// master = (accumulate ? master : 0) + widen(grad) * factor; nonfinite, i32 (1) on their device, becomes 1
// when a new value of `master` is not finite.
struct UnscaleJob {
  Tensor grad;    // any floating dtype but f64
  Tensor master;  // f32 of the same shape; undefined: the gradient, f32, is only looked at
  bool accumulate;
  Tensor nonfinite;
};
// All gradients of an iteration, on one device: read and written once.
extern DeviceKernel<void(std::vector<UnscaleJob>& jobs, float factor)> unscale_kernel;

struct RoundJob {
  Tensor master;   // f32
  Tensor rounded;  // f16 or bf16 of the same shape
};
// CUDA only.
extern DeviceKernel<void(std::vector<RoundJob>& jobs)> round_masters_kernel;

}  // namespace osprey
