#pragma once

#include "core/tensor/device_kernel.h"
#include "core/tensor/tensor.h"

namespace osprey {

// master = (accumulate ? master : 0) + widen(grad) * factor; nonfinite, i32 (1) on their device, becomes 1
// when a new value of `master` is not finite. grad: any floating dtype but f64; master: f32 of the same
// shape. Reads and writes once.
extern DeviceKernel<void(const Tensor& grad, float factor, bool accumulate, Tensor& master,
                         Tensor& nonfinite)>
    unscale_kernel;

}  // namespace osprey
