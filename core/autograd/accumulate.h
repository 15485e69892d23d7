#pragma once

#include "core/tensor/device_kernel.h"
#include "core/tensor/tensor.h"

namespace osprey {

// target += source, same shape and dtype; sums are computed in f32 and rounded for the halves.
extern DeviceKernel<void(const Tensor& source, Tensor& target)> add_into_kernel;

// Adds `gradient` to `sum`. The first gradient is taken as it is, without a copy; when its storage is shared,
// the second addition copies first, because another holder may still need it.
void accumulate(Tensor& sum, const Tensor& gradient);

}  // namespace osprey
