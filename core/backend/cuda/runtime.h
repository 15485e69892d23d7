#pragma once

#include <cuda_runtime.h>

#include "core/tensor/tensor.h"

namespace osprey {

// Throws Error "call: status text" when a runtime call failed.
void check_cuda(cudaError_t status, const char* call);
#define OSPREY_CUDA(call) ::osprey::check_cuda((call), #call)

// The stream that this thread's work for `device` goes to.
cudaStream_t current_stream(Device device);

}  // namespace osprey
