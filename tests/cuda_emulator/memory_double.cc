#include <cuda_runtime.h>

#include <cstring>
#include <vector>

#include "core/base/strings.h"
#include "tests/cuda_emulator/arena.h"
#include "tests/cuda_emulator/emulator.h"
#include "tests/cuda_emulator/fail.h"
#include "tests/cuda_emulator/pinned.h"
#include "tests/cuda_emulator/runtime_state.h"

// Memory and copies of the runtime's double.
namespace osprey::emulator {
namespace {

// The pool's handle is its device, counted from one.
int device_of_pool(cudaMemPool_t pool) { return static_cast<int>(reinterpret_cast<intptr_t>(pool)) - 1; }

enum class Place { kDevice, kPinned, kPageable };

Place place_of(const void* data) {
  if (Arena::get().contains(data)) return Place::kDevice;
  return is_pinned(data) ? Place::kPinned : Place::kPageable;
}

bool kind_matches(cudaMemcpyKind kind, Place target, Place source) {
  const bool to_device = target == Place::kDevice, from_device = source == Place::kDevice;
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return to_device && !from_device;
    case cudaMemcpyDeviceToHost:
      return !to_device && from_device;
    case cudaMemcpyDeviceToDevice:
      return to_device && from_device;
    case cudaMemcpyDefault:
      return to_device || from_device;
    default:
      return false;
  }
}

// One side of a queued copy. Pinned memory is shut from now until the copy runs.
class CopySide {
 public:
  CopySide(const void* data, size_t bytes, bool writes, const Stream& stream, const char* argument)
      : data_(data), writes_(writes), place_(place_of(data)) {
    if (place_ == Place::kDevice) {
      require_device_memory(data, bytes, stream, "cudaMemcpyAsync", argument);
    } else if (place_ == Place::kPinned) {
      if (!PinnedMemory::get().contains(data, bytes)) {
        fail(str_cat("cudaMemcpyAsync: ", argument, " leaves its pinned block"));
      }
      PinnedMemory::get().begin_copy(data, writes);
    }
  }
  void finish() const {
    if (place_ == Place::kPinned) PinnedMemory::get().finish_copy(data_, writes_);
  }
  Place place() const { return place_; }

 private:
  const void* data_;
  bool writes_;
  Place place_;
};

cudaError_t copy(void* target, const void* source, size_t bytes, Stream& stream) {
  if (bytes == 0) return cudaSuccess;
  const CopySide to(target, bytes, true, stream, "dst"), from(source, bytes, false, stream, "src");
  // The documentation: from pageable memory the copy is staged before the call returns, to pageable memory it
  // is complete.
  if (from.place() == Place::kPageable) {
    ++counts().pageable_copies;
    const char* begin = static_cast<const char*>(source);
    enqueue(stream, "cudaMemcpyAsync", [to, target, staged = std::vector<char>(begin, begin + bytes)] {
      to.finish();
      std::memcpy(target, staged.data(), staged.size());
    });
    return cudaSuccess;
  }
  enqueue(stream, "cudaMemcpyAsync", [to, from, target, source, bytes] {
    to.finish();
    from.finish();
    std::memmove(target, source, bytes);
  });
  if (to.place() == Place::kPageable) {
    ++counts().pageable_copies;
    drain(stream);
  }
  return cudaSuccess;
}

}  // namespace
}  // namespace osprey::emulator

using namespace osprey::emulator;
using osprey::str_cat;

#define LOCK const std::lock_guard lock(driver_mutex())

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  if (!valid_device(device)) return report(cudaErrorInvalidDevice);
  *pool = reinterpret_cast<cudaMemPool_t>(static_cast<intptr_t>(device) + 1);
  return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  if (!valid_device(device_of_pool(pool)) || value == nullptr) return report(cudaErrorInvalidValue);
  return report(attribute == cudaMemPoolAttrReleaseThreshold ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  LOCK;
  const int device = device_of_pool(pool);
  if (!valid_device(device) || value == nullptr || attribute != cudaMemPoolAttrReservedMemCurrent) {
    return report(cudaErrorInvalidValue);
  }
  *static_cast<uint64_t*>(value) = Arena::get().used_bytes(device);
  return cudaSuccess;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t) {
  return report(valid_device(device_of_pool(pool)) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMallocAsync(void** data, size_t bytes, cudaStream_t handle) {
  LOCK;
  Stream& stream = stream_of(handle, "cudaMallocAsync");
  if (data == nullptr || bytes == 0) return report(cudaErrorInvalidValue);
  if (Arena::get().used_bytes(stream.device) + bytes > machine().memory_bytes) {
    return report(cudaErrorMemoryAllocation);
  }
  *data = Arena::get().allocate(bytes, stream.device);
  Block* block = Arena::get().find(*data);
  enqueue(stream, "cudaMallocAsync", [block] { Arena::get().make(*block); });
  return report(cudaSuccess);
}

cudaError_t cudaFreeAsync(void* data, cudaStream_t handle) {
  LOCK;
  // Tensors release their memory from any thread, whatever device it has selected.
  Stream* stream = streams().find(handle);
  if (stream == nullptr) fail("cudaFreeAsync: the stream was destroyed or is the default stream");
  Block* block = Arena::get().find(data);
  if (block == nullptr || block->data != data)
    fail(str_cat("cudaFreeAsync: ", data, " is not an allocation"));
  if (block->state != Block::State::kLive) fail(str_cat("cudaFreeAsync: twice for a ", block->describe()));
  block->state = Block::State::kReleasing;
  enqueue(*stream, "cudaFreeAsync", [block] { Arena::get().release(*block); });
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned flags) {
  LOCK;
  if (data == nullptr || flags != cudaHostAllocDefault) return report(cudaErrorInvalidValue);
  *data = PinnedMemory::get().allocate(bytes);
  return report(*data ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaFreeHost(void* data) {
  LOCK;
  return report(PinnedMemory::get().release(data) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMemcpyAsync(void* target, const void* source, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t handle) {
  LOCK;
  Stream& stream = stream_of(handle, "cudaMemcpyAsync");
  if (!kind_matches(kind, place_of(target), place_of(source))) return report(cudaErrorInvalidMemcpyDirection);
  return report(copy(target, source, bytes, stream));
}

cudaError_t cudaMemcpyPeerAsync(void* target, int target_device, const void* source, int source_device,
                                size_t bytes, cudaStream_t handle) {
  LOCK;
  Stream& stream = stream_of(handle, "cudaMemcpyPeerAsync");
  if (!valid_device(target_device) || !valid_device(source_device)) return report(cudaErrorInvalidDevice);
  require_device_memory(target, bytes, {target_device, {}}, "cudaMemcpyPeerAsync", "dst");
  require_device_memory(source, bytes, {source_device, {}}, "cudaMemcpyPeerAsync", "src");
  enqueue(stream, "cudaMemcpyPeerAsync", [=] { std::memmove(target, source, bytes); });
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* data, int value, size_t bytes, cudaStream_t handle) {
  LOCK;
  Stream& stream = stream_of(handle, "cudaMemsetAsync");
  require_device_memory(data, bytes, stream, "cudaMemsetAsync", "devPtr");
  enqueue(stream, "cudaMemsetAsync", [=] { std::memset(data, value, bytes); });
  return report(cudaSuccess);
}
