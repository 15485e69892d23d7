#include "core/data/test_loader.h"

#include <algorithm>
#include <opencv2/core.hpp>

#include "core/data/collate.h"

namespace osprey {

TestLoader::TestLoader(std::shared_ptr<const Dataset> dataset, int workers, int64_t rank, int64_t world_size)
    : dataset_(std::move(dataset)),
      rank_(rank),
      world_size_(world_size),
      size_(std::max<int64_t>(0, (dataset_->size() - rank + world_size - 1) / world_size)),
      prefetcher_(workers, 2 * std::max(1, workers), [this](int64_t position) { return load(position); }) {
  cv::setNumThreads(0);
  prefetcher_.start(0, size_);
}

bool TestLoader::next(TestItem& item) {
  if (prefetcher_.next(item)) return true;
  prefetcher_.start(0, size_);
  return false;
}

TestItem TestLoader::load(int64_t position) const {
  TestItem item;
  item.index = rank_ + position * world_size_;
  CounterRng rng(0, 0, item.index);
  for (Sample& sample : dataset_->get(item.index, rng)) {
    Samples one;
    one.push_back(std::move(sample));
    item.augmentations.push_back(collate(one));
  }
  OSPREY_REQUIRE(!item.augmentations.empty(), "the test pipeline rejects image ", item.index);
  return item;
}

}  // namespace osprey
