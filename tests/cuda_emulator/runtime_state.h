#pragma once

#include <cuda_runtime.h>

#include "tests/cuda_emulator/handles.h"
#include "tests/cuda_emulator/streams.h"

// What the parts of the runtime's double share.
namespace osprey::emulator {

Handles<Stream>& streams();
Handles<Event>& events();

bool valid_device(int device);

// Keeps a failure for cudaGetLastError and returns it; on a broken device the failure that broke it.
cudaError_t report(cudaError_t status);

}  // namespace osprey::emulator
