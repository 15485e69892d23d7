#include "tests/cuda_emulator/pinned.h"

#include <sys/mman.h>

#include <algorithm>

#include "core/base/strings.h"
#include "tests/cuda_emulator/fail.h"
#include "tests/cuda_emulator/handles.h"

namespace osprey::emulator {
namespace {

constexpr size_t kPage = 4096;

}  // namespace

PinnedMemory& PinnedMemory::get() {
  static PinnedMemory& memory = *new PinnedMemory;
  return memory;
}

void* PinnedMemory::allocate(size_t bytes) {
  const size_t pages = (std::max<size_t>(bytes, 1) + kPage - 1) / kPage * kPage;
  void* data = mmap(nullptr, pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  regions_[static_cast<const char*>(data)] = {pages};
  return data;
}

bool PinnedMemory::release(void* data) {
  const auto found = regions_.find(static_cast<const char*>(data));
  if (found == regions_.end()) return false;
  if (found->second.readers + found->second.writers > 0) {
    fail(str_cat("cudaFreeHost: a queued copy still uses ", data));
  }
  munmap(data, found->second.bytes);
  regions_.erase(found);
  return true;
}

std::map<const char*, PinnedMemory::Region>::iterator PinnedMemory::find(const void* address) {
  auto found = regions_.upper_bound(static_cast<const char*>(address));
  if (found == regions_.begin()) return regions_.end();
  --found;
  return static_cast<const char*>(address) < found->first + found->second.bytes ? found : regions_.end();
}

bool PinnedMemory::contains(const void* address, size_t bytes) const {
  const auto found = const_cast<PinnedMemory*>(this)->find(address);
  return found != regions_.end() &&
         static_cast<const char*>(address) + bytes <= found->first + found->second.bytes;
}

void PinnedMemory::protect(const char* data, const Region& region) {
  const int protection = region.writers ? PROT_NONE : region.readers ? PROT_READ : PROT_READ | PROT_WRITE;
  mprotect(const_cast<char*>(data), region.bytes, protection);
}

void PinnedMemory::begin_copy(const void* address, bool writes) {
  const auto region = find(address);
  ++(writes ? region->second.writers : region->second.readers);
  protect(region->first, region->second);
}

void PinnedMemory::finish_copy(const void* address, bool writes) {
  const auto region = find(address);
  --(writes ? region->second.writers : region->second.readers);
  protect(region->first, region->second);
}

bool is_pinned(const void* address) { return PinnedMemory::get().contains(address); }

}  // namespace osprey::emulator
