#pragma once

#include <cstdint>
#include <vector>

#include "core/data/dataset.h"

namespace osprey {

// The images of one batch on this process.
using BatchIndices = std::vector<int64_t>;

// Which images a process sees in an epoch, and in which order. The seed and the epoch decide, nothing else,
// so that a resumed run continues where it was (mmdetection's GroupSampler draws from a global generator).
struct SamplerOptions {
  int64_t samples_per_gpu = 1;
  uint64_t seed = 0;
  int64_t rank = 0, world_size = 1;
};

// mmdetection's (Distributed)GroupSampler: the images of a batch have one aspect group, so that little is
// padded. Each group is shuffled, filled up with its own first images to a multiple of samples_per_gpu *
// world_size and cut into batches; the batches are shuffled and dealt out, an equal number to each rank.
class GroupSampler {
 public:
  GroupSampler(const Dataset& dataset, const SamplerOptions& options);
  int64_t batches_per_epoch() const { return batches_per_epoch_; }  // of one rank
  std::vector<BatchIndices> epoch(int64_t epoch) const;

 private:
  SamplerOptions options_;
  std::vector<std::vector<int64_t>> groups_;  // image indices, in order
  int64_t batches_per_epoch_ = 0;
};

}  // namespace osprey
