// Linked into op tests: every fresh tensor is NaN in each floating dtype (and -1 as an integer), so that a
// kernel that leaves an element unwritten, or reads its output before writing it, fails its test.
#include <cstring>

#include "core/tensor/cpu_memory.h"
#include "core/tensor/storage.h"

namespace osprey {
namespace {

void* allocate_poisoned(size_t bytes, Device) {
  void* data = allocate_cpu_memory(bytes);
  std::memset(data, 0xFF, bytes);
  return data;
}

void release_poisoned(void* data, size_t bytes, Device) { release_cpu_memory(data, bytes); }

[[maybe_unused]] const bool poisoned = [] {
  register_allocator(DeviceType::kCPU, {allocate_poisoned, release_poisoned, [] { return 1; }});
  return true;
}();

}  // namespace
}  // namespace osprey
