#pragma once

#include "core/tensor/storage.h"

// Device memory. Allocation and release are points in a stream's work: no host waits, and a block can be
// handed out again as soon as the work before its release is through. The driver's memory pool does the
// caching (its virtual addressing leaves no fragments behind); here it is told to keep what it has, and every
// block is accounted for, so that an out-of-memory error can say who holds what. The CUDA backend registers
// this as the allocator of tensors. With OSPREY_CUDA_POISON=1 in the environment fresh blocks hold NaN.
namespace osprey {

// `bytes` > 0, on the thread's current stream of `device`, 256-byte aligned. Throws OutOfMemory naming the
// size, the op and module that asked, what is in use, and the modules that hold the most.
void* allocate_cuda_memory(size_t bytes, Device device);
// On the stream that the block was allocated on, after what the releasing thread's stream has been given so
// far: a tensor may be made by one thread and used up by another.
void release_cuda_memory(void* data, size_t bytes, Device device);

// What one device holds, in bytes.
struct CudaMemoryStats {
  int64_t in_use, peak;  // by tensors and workspaces, now and at most
  int64_t reserved;      // taken from the driver, in use or kept
};
CudaMemoryStats cuda_memory_stats(Device device);

// Memory of one call: the workspace of a library.
class CudaWorkspace {
 public:
  CudaWorkspace(size_t bytes, Device device)
      : data_(bytes ? allocate_cuda_memory(bytes, device) : nullptr), bytes_(bytes), device_(device) {}
  ~CudaWorkspace() {
    if (data_) release_cuda_memory(data_, bytes_, device_);
  }
  CudaWorkspace(const CudaWorkspace&) = delete;
  CudaWorkspace& operator=(const CudaWorkspace&) = delete;

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  void* data_;
  size_t bytes_;
  Device device_;
};

}  // namespace osprey
