#pragma once

#include <cstddef>
#include <map>

// Page-locked host memory, shut while a queued copy uses it: a source can be read but not written, a target
// can be neither, so that host code which does not wait for the copy faults.
namespace osprey::emulator {

class PinnedMemory {
 public:
  static PinnedMemory& get();

  void* allocate(size_t bytes);
  bool release(void* data);  // false: not an allocation. Fails while copies are pending.
  bool contains(const void* address, size_t bytes = 1) const;

  // A queued copy from or to the allocation that holds `address`; balanced by finish(), which the copy calls
  // when it starts, with the memory open from then on.
  void begin_copy(const void* address, bool writes);
  void finish_copy(const void* address, bool writes);

 private:
  struct Region {
    size_t bytes;
    int readers = 0, writers = 0;  // queued copies
  };
  std::map<const char*, Region>::iterator find(const void* address);
  static void protect(const char* data, const Region& region);

  std::map<const char*, Region> regions_;
};

}  // namespace osprey::emulator
