#include "core/backend/cuda/pinned.h"

#include <algorithm>
#include <bit>
#include <list>
#include <mutex>

namespace osprey {

struct PinnedBuffer::Block {
  void* data = nullptr;
  size_t bytes = 0;
  std::unique_ptr<CudaEvent> last_use;  // null: nothing pending
};

// Free blocks; those of equal size are interchangeable.
class PinnedCache {
 public:
  using Block = PinnedBuffer::Block;

  std::unique_ptr<Block> take(size_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = std::find_if(blocks_.begin(), blocks_.end(), [&](const auto& block) {
        return block->bytes == bytes && (!block->last_use || block->last_use->reached());
      });
      if (found != blocks_.end()) {
        std::unique_ptr<Block> block = std::move(*found);
        blocks_.erase(found);
        block->last_use.reset();
        return block;
      }
    }
    auto block = std::make_unique<Block>();
    block->bytes = bytes;
    OSPREY_CUDA(cudaHostAlloc(&block->data, bytes, cudaHostAllocDefault));
    return block;
  }

  void give(std::unique_ptr<Block> block) {
    const std::lock_guard lock(mutex_);
    blocks_.push_back(std::move(block));
  }

 private:
  std::mutex mutex_;
  std::list<std::unique_ptr<Block>> blocks_;  // oldest first: most likely to be done
};

namespace {

// Never destroyed: see memory.cc.
PinnedCache& pinned_cache() {
  static PinnedCache& cache = *new PinnedCache;
  return cache;
}

constexpr size_t kSmallest = 4096;

}  // namespace

PinnedBuffer::PinnedBuffer(size_t bytes)
    : block_(pinned_cache().take(std::bit_ceil(std::max(bytes, kSmallest)))) {}

PinnedBuffer::~PinnedBuffer() { pinned_cache().give(std::move(block_)); }

void* PinnedBuffer::data() const { return block_->data; }

void PinnedBuffer::retire_after(Device device, cudaStream_t stream) {
  block_->last_use = std::make_unique<CudaEvent>(device);
  block_->last_use->record(stream);
}

}  // namespace osprey
