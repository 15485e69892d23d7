#include "core/tensor/storage.h"

#include "core/base/error.h"
#include "core/tensor/cpu_memory.h"

namespace osprey {
namespace {

void* allocate_cpu(size_t bytes, Device) { return allocate_cpu_memory(bytes); }

void release_cpu(void* data, size_t bytes, Device) { release_cpu_memory(data, bytes); }

struct DeviceMemory {
  Allocator allocator{};
  std::atomic<int64_t> live{0};
  std::atomic<int64_t> peak{0};
};

DeviceMemory& memory_of(DeviceType type) {
  static DeviceMemory cpu{{allocate_cpu, release_cpu, [] { return 1; }}};
  static DeviceMemory cuda;
  return type == DeviceType::kCPU ? cpu : cuda;
}

}  // namespace

Storage::Storage(size_t bytes, Device device) : bytes_(bytes), device_(device) {
  if (bytes == 0) return;
  DeviceMemory& memory = memory_of(device.type);
  OSPREY_REQUIRE(memory.allocator.allocate, "device ", device, ": this build has no backend for it");
  data_ = memory.allocator.allocate(bytes, device);
  const int64_t live = memory.live.fetch_add(static_cast<int64_t>(bytes)) + static_cast<int64_t>(bytes);
  int64_t peak = memory.peak.load();
  while (live > peak && !memory.peak.compare_exchange_weak(peak, live)) {
  }
}

Storage::~Storage() {
  if (data_ == nullptr) return;
  DeviceMemory& memory = memory_of(device_.type);
  memory.allocator.release(data_, bytes_, device_);
  memory.live.fetch_sub(static_cast<int64_t>(bytes_));
}

MemoryStats memory_stats(DeviceType type) {
  const DeviceMemory& memory = memory_of(type);
  return {memory.live.load(), memory.peak.load()};
}

void reset_peak_memory(DeviceType type) {
  DeviceMemory& memory = memory_of(type);
  memory.peak = memory.live.load();
}

void register_allocator(DeviceType type, Allocator allocator) { memory_of(type).allocator = allocator; }

int device_count(DeviceType type) {
  const auto count = memory_of(type).allocator.device_count;
  return count ? count() : 0;
}

}  // namespace osprey
