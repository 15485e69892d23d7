#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>

// "Device" memory: a range of addresses that the host cannot touch. It opens only while a stream's queue
// drains, so that host code which reads or writes through a device pointer, too early or at all, faults on
// the line that did it; the fault handler says whose memory it was. Addresses are not reused, and released
// blocks stay shut: a kernel that uses one faults, too, as does one that runs past a block's end.
namespace osprey::emulator {

struct Block {
  enum class State { kLive, kReleasing, kReleased };  // releasing: its release is queued on a stream
  char* data;
  size_t bytes;
  int device;
  State state;
  std::string made_by;
  char* pages;  // the whole pages that hold it
  size_t page_bytes;
  bool made;  // its allocation, a point in a stream's work as its release is, has had its turn; shut before

  std::string describe() const;
};

class Arena {
 public:
  // One for the process; installs the fault handler on first use.
  static Arena& get();

  // 256-byte aligned as cudaMalloc's, ending at the end of a page.
  void* allocate(size_t bytes, int device);
  // The allocation's turn has come. Fills the block with bytes that are NaN in every floating dtype, and its
  // tail with a mark that release() checks. Requires an open arena.
  void make(Block& block);
  void release(Block& block);

  bool contains(const void* address) const;
  // The block, past or present, that holds the address (its end included); null for none.
  Block* find(const void* address);

  size_t used_bytes(int device) const { return used_[device]; }

  void open();  // nests
  void close();
  bool is_open() const { return open_ > 0; }

 private:
  Arena();
  char* place(size_t span);
  void protect_live(int protection);

  char* begin_ = nullptr;
  char* next_ = nullptr;
  std::map<char*, Block> blocks_;  // by data; released ones, too
  std::set<Block*> open_blocks_;   // made and not yet released: what open() and close() are about
  size_t used_[8] = {};
  int open_ = 0;
};

// Opens the arena for its life.
class ArenaOpen {
 public:
  ArenaOpen() { Arena::get().open(); }
  ~ArenaOpen() { Arena::get().close(); }
  ArenaOpen(const ArenaOpen&) = delete;
  ArenaOpen& operator=(const ArenaOpen&) = delete;
};

// What runs at the moment, for the fault handler: a kernel's name, or null.
extern const char* running_task;

}  // namespace osprey::emulator
