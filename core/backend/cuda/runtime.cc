#include "core/backend/cuda/runtime.h"

#include <array>

#include "core/tensor/copy.h"

namespace osprey {
namespace {

constexpr int kMaxDevices = 64;

// One stream per thread and device, made on first use. They live as long as the process: destroying them from
// thread-exit handlers would race with the driver's own shutdown.
thread_local std::array<cudaStream_t, kMaxDevices> streams{};

void* allocate_cuda(size_t bytes, Device device) {
  OSPREY_CUDA(cudaSetDevice(device.index));
  void* data = nullptr;
  OSPREY_CUDA(cudaMallocAsync(&data, bytes, current_stream(device)));
  return data;
}

void release_cuda(void* data, size_t, Device device) {
  // Runs in destructors: a failure here (a dead context at exit) must not throw.
  (void)cudaFreeAsync(data, current_stream(device));
}

void copy_bytes_cuda(const void* source, Device source_device, void* target, Device target_device,
                     size_t bytes) {
  const Device device = source_device.is_cuda() ? source_device : target_device;
  OSPREY_CUDA(cudaSetDevice(device.index));
  const cudaStream_t stream = current_stream(device);
  OSPREY_CUDA(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, stream));
  // Host memory may be read or reused as soon as we return.
  if (!source_device.is_cuda() || !target_device.is_cuda()) OSPREY_CUDA(cudaStreamSynchronize(stream));
}

[[maybe_unused]] const bool allocator_registered = [] {
  register_allocator(DeviceType::kCUDA, {allocate_cuda, release_cuda});
  return true;
}();
OSPREY_REGISTER_KERNEL(copy_bytes_kernel, DeviceType::kCUDA, copy_bytes_cuda);

}  // namespace

void check_cuda(cudaError_t status, const char* call) {
  if (status != cudaSuccess) {
    throw Error(str_cat(call, ": ", cudaGetErrorName(status), ": ", cudaGetErrorString(status)));
  }
}

cudaStream_t current_stream(Device device) {
  OSPREY_REQUIRE(device.is_cuda() && device.index >= 0 && device.index < kMaxDevices, "no CUDA stream for ",
                 device);
  cudaStream_t& stream = streams[device.index];
  if (stream == nullptr) {
    OSPREY_CUDA(cudaSetDevice(device.index));
    OSPREY_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  }
  return stream;
}

}  // namespace osprey
