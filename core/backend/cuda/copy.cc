#include "core/tensor/copy.h"

#include <algorithm>
#include <cstring>

#include "core/backend/cuda/pinned.h"
#include "core/backend/cuda/runtime.h"

// Copies that touch a device. Host memory goes through pinned staging in pieces: the host fills or empties
// one while another is on its way.
namespace osprey {
namespace {

constexpr size_t kPiece = 16 << 20;

void upload(const char* source, char* target, Device device, size_t bytes) {
  const cudaStream_t stream = current_stream(device);
  for (size_t begin = 0; begin < bytes; begin += kPiece) {
    const size_t count = std::min(kPiece, bytes - begin);
    PinnedBuffer staging(count);
    std::memcpy(staging.data(), source + begin, count);
    OSPREY_CUDA(cudaMemcpyAsync(target + begin, staging.data(), count, cudaMemcpyHostToDevice, stream));
    staging.retire_after(device, stream);
  }
}

// The host needs the values: it waits. Two buffers in turn: one piece arrives while the last is emptied.
void download(const char* source, char* target, Device device, size_t bytes) {
  const cudaStream_t stream = current_stream(device);
  const auto count_at = [&](size_t begin) { return std::min(kPiece, bytes - begin); };
  const PinnedBuffer first(count_at(0)), second(bytes > kPiece ? count_at(kPiece) : 0);
  const PinnedBuffer* staging[] = {&first, &second};
  const auto fetch = [&](size_t begin) {
    OSPREY_CUDA(cudaMemcpyAsync(staging[begin / kPiece % 2]->data(), source + begin, count_at(begin),
                                cudaMemcpyDeviceToHost, stream));
  };
  fetch(0);
  for (size_t begin = 0; begin < bytes; begin += kPiece) {
    synchronize(device);
    if (begin + kPiece < bytes) fetch(begin + kPiece);
    std::memcpy(target + begin, staging[begin / kPiece % 2]->data(), count_at(begin));
  }
}

// Between two devices the target's stream must come after what the source's has been given, and the source's
// must not go on to overwrite what is being read.
void copy_across(const void* source, Device source_device, void* target, Device target_device, size_t bytes) {
  const cudaStream_t producer = current_stream(source_device);
  const cudaStream_t consumer = current_stream(target_device);
  CudaEvent written(source_device), copied(target_device);
  written.record(producer);
  written.block(consumer);
  OSPREY_CUDA(cudaMemcpyPeerAsync(target, target_device.index, source, source_device.index, bytes, consumer));
  copied.record(consumer);
  copied.block(producer);
}

void copy_bytes_cuda(const void* source, Device source_device, void* target, Device target_device,
                     size_t bytes) {
  if (!source_device.is_cuda()) {
    upload(static_cast<const char*>(source), static_cast<char*>(target), target_device, bytes);
  } else if (!target_device.is_cuda()) {
    download(static_cast<const char*>(source), static_cast<char*>(target), source_device, bytes);
  } else if (source_device == target_device) {
    OSPREY_CUDA(
        cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToDevice, current_stream(source_device)));
  } else {
    copy_across(source, source_device, target, target_device, bytes);
  }
}

OSPREY_REGISTER_KERNEL(copy_bytes_kernel, DeviceType::kCUDA, copy_bytes_cuda);

}  // namespace
}  // namespace osprey
