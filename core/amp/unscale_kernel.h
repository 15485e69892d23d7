#pragma once

#include "core/tensor/device_kernel.h"
#include "core/tensor/tensor.h"

namespace osprey {

// master = (accumulate ? master : 0) + widen(grad) * factor, and *finite tells whether every new value of
// `master` is. grad: any floating dtype but f64; master: f32 of the same shape. Reads and writes once.
extern DeviceKernel<void(const Tensor& grad, float factor, bool accumulate, Tensor& master, bool* finite)>
    unscale_kernel;

}  // namespace osprey
