#pragma once

#include "core/parallel/communicator.h"

namespace osprey {

// How many tensors travel between ranks: mmcv's keys `coalesce` and `bucket_size_mb`. The result does not
// depend on them.
struct BucketOptions {
  bool coalesce = true;     // false: one message for each tensor
  int bucket_size_mb = -1;  // most that one message holds; -1: 32
};

// world().all_reduce() of each tensor, in messages of many. The tensors are of one dtype and device.
void all_reduce_in_buckets(const Tensors& tensors, const BucketOptions& options);

}  // namespace osprey
