#include "core/tensor/cpu_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <deque>
#include <list>
#include <mutex>
#include <unordered_map>

#include "core/base/error.h"

namespace osprey {
namespace {

constexpr size_t kAlignment = 64;       // one cache line, one AVX-512 register
constexpr size_t kSmallest = 64 << 10;  // blocks below are malloc's business
constexpr size_t kHugePage = 2 << 20;   // x86-64
constexpr size_t kSmallReserve = 256 << 20;
constexpr size_t kLargeReserve = size_t{1} << 30;

size_t round_up(size_t bytes, size_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }

// Eight sizes to an octave: at most an eighth is wasted, and nearly equal requests share blocks.
size_t size_class(size_t bytes) { return round_up(bytes, std::bit_floor(bytes) / 8); }

void* fresh_block(size_t bytes) {
  const bool huge = bytes >= kHugePage;
  const size_t alignment = huge ? kHugePage : kAlignment;
  void* data = std::aligned_alloc(alignment, round_up(bytes, alignment));
  // Huge pages: five hundred times fewer page faults and TLB entries. A hint; failure does no harm.
  if (huge && data != nullptr) (void)madvise(data, bytes, MADV_HUGEPAGE);
  return data;
}

// Free blocks by size class, oldest first. What is held (in use and free) stays within a quarter above the
// highest use so far, and within little more than a gigabyte of it.
class BlockCache {
 public:
  void* take(size_t bytes) {
    const std::lock_guard lock(mutex_);
    in_use_ += bytes;
    peak_ = std::max(peak_, in_use_);
    auto& blocks = by_size_[bytes];
    if (!blocks.empty()) {
      void* data = blocks.back()->data;
      order_.erase(blocks.back());
      blocks.pop_back();
      free_ -= bytes;
      return data;
    }
    trim();
    void* data = fresh_block(bytes);
    if (data == nullptr) {
      while (!order_.empty()) drop_oldest();
      data = fresh_block(bytes);
    }
    if (data == nullptr) in_use_ -= bytes;
    return data;
  }

  void give(void* data, size_t bytes) {
    const std::lock_guard lock(mutex_);
    in_use_ -= bytes;
    free_ += bytes;
    by_size_[bytes].push_back(order_.insert(order_.end(), {data, bytes}));
    trim();
  }

  size_t free_bytes() {
    const std::lock_guard lock(mutex_);
    return free_;
  }

 private:
  struct Block {
    void* data;
    size_t bytes;
  };

  void trim() {
    const size_t limit = peak_ + std::min(peak_ / 4, kLargeReserve) + kSmallReserve;
    while (!order_.empty() && in_use_ + free_ > limit) drop_oldest();
  }

  void drop_oldest() {
    const Block block = order_.front();
    by_size_[block.bytes].pop_front();  // each size keeps the same order
    order_.pop_front();
    free_ -= block.bytes;
    std::free(block.data);
  }

  std::mutex mutex_;
  std::list<Block> order_;
  std::unordered_map<size_t, std::deque<std::list<Block>::iterator>> by_size_;
  size_t in_use_ = 0, free_ = 0, peak_ = 0;
};

// Never destroyed: tensors in static storage may be released after it would be.
BlockCache& block_cache() {
  static BlockCache& cache = *new BlockCache;
  return cache;
}

}  // namespace

void* allocate_cpu_memory(size_t bytes) {
  void* data = bytes < kSmallest ? std::aligned_alloc(kAlignment, round_up(bytes, kAlignment))
                                 : block_cache().take(size_class(bytes));
  if (data == nullptr) throw Error(str_cat("out of memory: cannot allocate ", bytes, " bytes on the CPU"));
  return data;
}

void release_cpu_memory(void* data, size_t bytes) {
  if (bytes < kSmallest) {
    std::free(data);
  } else {
    block_cache().give(data, size_class(bytes));
  }
}

size_t cached_cpu_memory() { return block_cache().free_bytes(); }

}  // namespace osprey
