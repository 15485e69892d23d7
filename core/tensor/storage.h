#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "core/base/error.h"
#include "core/tensor/device.h"

namespace osprey {

// A block of memory on one device, shared by the tensors that look at it. 64-byte aligned on the CPU.
class Storage {
 public:
  Storage(size_t bytes, Device device);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Device device() const { return device_; }

  // Grows with every mutable access. What was derived from the content (a packed copy of a weight) is valid
  // for one version.
  uint64_t version() const { return version_.load(std::memory_order_relaxed); }
  void bump_version() { version_.fetch_add(1, std::memory_order_relaxed); }

  // A slot where a backend keeps such derived data; it dies with the storage. Lock the mutex around any use.
  std::mutex& derived_mutex() { return derived_mutex_; }
  std::shared_ptr<void>& derived() { return derived_; }

 private:
  void* data_ = nullptr;
  size_t bytes_;
  Device device_;
  std::atomic<uint64_t> version_{0};
  std::mutex derived_mutex_;
  std::shared_ptr<void> derived_;
};

// Memory held by all tensors of a device type, for the log's `memory` field and for tests.
struct MemoryStats {
  int64_t live_bytes;
  int64_t peak_bytes;
};
MemoryStats memory_stats(DeviceType type);
void reset_peak_memory(DeviceType type);

// How a device type allocates. The CUDA backend installs its caching allocator here when it is linked in.
struct Allocator {
  void* (*allocate)(size_t bytes, Device device);
  void (*release)(void* data, size_t bytes, Device device);
  int (*device_count)();
};
void register_allocator(DeviceType type, Allocator allocator);

// Devices of a type that this build and this machine offer: 1 for the CPU, 0 without a backend or a GPU.
int device_count(DeviceType type);

// A device has no room. what() says how much was asked for, by whom, and who holds the most.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

}  // namespace osprey
