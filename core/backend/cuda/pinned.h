#pragma once

#include <cstddef>

#include "core/backend/cuda/runtime.h"

namespace osprey {

// Page-locked host memory: the only kind that copies to and from a device without the host waiting. Buffers
// are kept and reused, because locking pages costs more than most copies. Thread-safe.
class PinnedBuffer {
 public:
  explicit PinnedBuffer(size_t bytes);
  // The memory is handed out again once the work up to `retire_after` is done, at once without it.
  ~PinnedBuffer();
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;

  void* data() const;
  // `stream` uses the buffer in all its work so far: the owner may let go of it now.
  void retire_after(Device device, cudaStream_t stream);

 private:
  struct Block;
  friend class PinnedCache;
  std::unique_ptr<Block> block_;
};

}  // namespace osprey
