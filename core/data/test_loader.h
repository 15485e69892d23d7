#pragma once

#include <memory>
#include <vector>

#include "core/data/dataset.h"
#include "core/data/prefetcher.h"

namespace osprey {

// One image of a test set: a batch of one for each augmentation of MultiScaleFlipAug.
struct TestItem {
  int64_t index = -1;  // in the dataset
  std::vector<Batch> augmentations;
};

// Reads a test set in order, image by image, loaded ahead by worker threads. Of `world_size` processes,
// `rank` gets images rank, rank + world_size, ... A broken image always stops an evaluation: skipping it
// would change the result.
class TestLoader {
 public:
  explicit TestLoader(std::shared_ptr<const Dataset> dataset, int workers = 2, int64_t rank = 0,
                      int64_t world_size = 1);
  int64_t size() const { return size_; }  // images of this rank
  // False after the last image; then the next call starts again with the first.
  bool next(TestItem& item);

 private:
  TestItem load(int64_t position) const;

  std::shared_ptr<const Dataset> dataset_;
  int64_t rank_, world_size_, size_;
  Prefetcher<TestItem> prefetcher_;
};

}  // namespace osprey
