#pragma once

#include "core/tensor/device_kernel.h"
#include "core/tensor/tensor.h"

namespace osprey {

// x (rows, c), not empty; sums (c), uninitialised.
extern DeviceKernel<void(const Tensor& x, Tensor& sums)> channel_sum_kernel;

}  // namespace osprey
