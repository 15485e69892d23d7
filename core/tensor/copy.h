#pragma once

#include <cstddef>

#include "core/tensor/device_kernel.h"
#include "core/tensor/tensor.h"

namespace osprey {

// Copies raw bytes when one side at least is on CUDA; the CUDA backend registers it.
extern DeviceKernel<void(const void* source, Device source_device, void* target, Device target_device,
                         size_t bytes)>
    copy_bytes_kernel;

// On CUDA only; the CPU's are plain functions in tensor.cc. Not empty. convert: same shape and device, dtypes
// differ and are not f64.
extern DeviceKernel<void(Tensor& tensor, double value)> fill_kernel;
extern DeviceKernel<void(const Tensor& source, Tensor& target)> convert_kernel;
// mark i32 (1) becomes 1 when an element of the floating tensor is inf or NaN.
extern DeviceKernel<void(const Tensor& tensor, Tensor& mark)> mark_nonfinite_kernel;

}  // namespace osprey
