#pragma once

#include <cstdint>
#include <vector>

#include "core/detection/batch.h"

namespace osprey {

// Where a runner gets its batches from. The content of batch b of epoch e depends on (seed, e, b) alone: not
// on the number of workers, and not on what was read before, so that a resumed run continues mid-epoch.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual int64_t batches_per_epoch() const = 0;
  // Positions before batch `first_batch` of `epoch` (both 0-based) and starts prefetching.
  virtual void begin_epoch(int64_t epoch, int64_t first_batch) = 0;
  // False at the end of the epoch.
  virtual bool next(Batch& batch) = 0;
};

}  // namespace osprey
