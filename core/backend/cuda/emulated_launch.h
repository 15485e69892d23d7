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
  bool adds_up;  // threads add into the same memory, which on the host they must do one after the other
};
// Puts body, over ranges of [0, threads), into the stream's queue; when it drains, ranges run in parallel, or
// in the order that the test chose.
void emulated_launch(cudaStream_t stream, const EmulatedKernel& kernel, int64_t threads,
                     std::function<void(int64_t begin, int64_t end)> body);

}  // namespace osprey
