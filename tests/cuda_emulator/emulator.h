#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

// How tests steer the emulated machine.
namespace osprey::emulator {

struct Machine {
  int devices = 2;
  int capability_major = 9, capability_minor = 0;
  int driver_version = CUDART_VERSION;  // as cudaDriverGetVersion tells it; 0: none is installed
  bool memory_pools = true;
  size_t memory_bytes = size_t{6} << 30;  // of each device
  uint64_t thread_order = 0;  // seed of the order in which a kernel's threads take their turns; 0: ascending
  // What the next kernel that is launched ends with once it runs. From then on the device is `broken`: calls
  // return that status, whatever they are about.
  cudaError_t next_launch_fails = cudaSuccess;
  cudaError_t broken = cudaSuccess;
};
Machine& machine();

// What happened since the process began.
struct Counts {
  int64_t launches = 0;         // kernels and library calls
  int64_t waits = 0;            // host waits: stream, event and device synchronisations
  int64_t pageable_copies = 0;  // copies with ordinary host memory, which wait, too
};
Counts& counts();

}  // namespace osprey::emulator
