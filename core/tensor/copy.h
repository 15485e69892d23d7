#pragma once

#include <cstddef>

#include "core/tensor/device_kernel.h"

namespace osprey {

// Copies raw bytes when one side at least is on CUDA; the CUDA backend registers it.
extern DeviceKernel<void(const void* source, Device source_device, void* target, Device target_device,
                         size_t bytes)>
    copy_bytes_kernel;

}  // namespace osprey
