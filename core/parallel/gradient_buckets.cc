#include "core/parallel/gradient_buckets.h"

namespace osprey {
namespace {

constexpr size_t kMegabyte = 1 << 20;
constexpr size_t kDefaultBucket = 32 * kMegabyte;

Tensor flat(const Tensor& tensor) { return tensor.reshape({-1}); }

void reduce_bucket(const Tensors& bucket) {
  if (bucket.empty()) return;
  if (bucket.size() == 1) {
    Tensor alone = bucket[0];
    return world().all_reduce(alone);
  }
  Tensors parts;
  for (const Tensor& tensor : bucket) parts.push_back(flat(tensor));
  Tensor message = concat(parts);
  world().all_reduce(message);
  int64_t first = 0;
  for (Tensor& part : parts) {
    part.copy_from(message.slice(first, first + part.numel()));
    first += part.numel();
  }
}

}  // namespace

// As mmcv's _take_tensors: a tensor that does not fit any more begins the next bucket.
void all_reduce_in_buckets(const Tensors& tensors, const BucketOptions& options) {
  if (world().size() == 1) return;
  size_t most = options.bucket_size_mb > 0 ? options.bucket_size_mb * kMegabyte : kDefaultBucket;
  if (!options.coalesce) most = 0;
  Tensors bucket;
  size_t bytes = 0;
  for (const Tensor& tensor : tensors) {
    if (tensor.empty()) continue;
    if (bytes + tensor.bytes() > most) {
      reduce_bucket(bucket);
      bucket.clear();
      bytes = 0;
    }
    bucket.push_back(tensor);
    bytes += tensor.bytes();
  }
  reduce_bucket(bucket);
}

}  // namespace osprey
