#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <functional>

namespace osprey {

// What a kernel launch is in the emulated build, where no nvcc compiles it. tests/cuda_emulator defines it;
// real builds neither call nor link it.
struct EmulatedKernel {
  const char* name;
  const void* arguments;  // the bytes that would be copied to the device: checked for host pointers
  size_t argument_bytes;
};
// Puts body over [0, n) into the stream's queue; ranges of it run in parallel when the queue drains.
void emulated_launch(cudaStream_t stream, const EmulatedKernel& kernel, int64_t n,
                     std::function<void(int64_t begin, int64_t end)> body);

}  // namespace osprey
