#include <gtest/gtest.h>

#include <stdexcept>

#include "core/backend/cuda/memory.h"
#include "core/backend/cuda/runtime.h"
#include "core/data/device_loader.h"
#include "core/ops/reduce.h"

// The next batch on its way to the device while the current one is worked on.
namespace osprey {
namespace {

constexpr Device kCuda{DeviceType::kCUDA, 0};
constexpr int64_t kBatches = 7;

// Batch b of epoch e is an image of 100 e + b.
class Numbers final : public BatchSource {
 public:
  explicit Numbers(int64_t bad = -1) : bad_(bad) {}
  int64_t batches_per_epoch() const override { return kBatches; }
  void begin_epoch(int64_t epoch, int64_t first_batch) override {
    epoch_ = epoch;
    next_ = first_batch;
  }
  bool next(Batch& batch) override {
    if (next_ == kBatches) return false;
    const int64_t index = next_++;
    if (index == bad_) throw UserError("img_3.jpg: broken");
    batch = Batch();
    batch.img = Tensor::full({1, 64, 64, 3}, static_cast<double>(100 * epoch_ + index), DType::kF32);
    batch.gt_labels = {Tensor::from<int64_t>({index}, {1})};
    batch.rng_seed = static_cast<uint64_t>(index);
    return true;
  }

 private:
  int64_t bad_, epoch_ = 0, next_ = 0;
};

class Upload : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no GPU";
  }
  static DeviceLoader loader_of(int64_t bad = -1) {
    return {std::make_unique<Numbers>(bad), device_backend(DeviceType::kCUDA)->make_uploader(kCuda)};
  }
};

TEST_F(Upload, BatchesArriveInOrderAndTheHostDoesNotWait) {
  DeviceLoader loader = loader_of();
  loader.begin_epoch(2, 0);
  const int64_t waits = synchronization_count();
  Tensors means;
  Batch batch;
  for (int64_t index = 0; loader.next(batch); ++index) {
    EXPECT_EQ(batch.img.device(), kCuda);
    EXPECT_EQ(batch.rng_seed, static_cast<uint64_t>(index));
    EXPECT_EQ(batch.gt_labels[0].item(), static_cast<double>(index));
    means.push_back(mean(Variable(batch.img)).value());  // queued; the image goes with the next batch
  }
  EXPECT_EQ(synchronization_count(), waits);
  ASSERT_EQ(means.size(), static_cast<size_t>(kBatches));
  for (int64_t index = 0; index < kBatches; ++index) {
    EXPECT_EQ(means[static_cast<size_t>(index)].item(), static_cast<double>(200 + index));
  }
  EXPECT_FALSE(loader.next(batch)) << "the end stays the end";
}

TEST_F(Upload, TheDeviceHoldsTheCurrentBatchAndTheNext) {
  const int64_t before = cuda_memory_stats(kCuda).in_use;
  const int64_t image = 64 * 64 * 3 * 4;
  DeviceLoader loader = loader_of();
  loader.begin_epoch(0, 0);
  Batch batch;
  while (loader.next(batch)) {
    EXPECT_LE(cuda_memory_stats(kCuda).in_use, before + 2 * image);
    synchronize(kCuda);
  }
}

TEST_F(Upload, AFailureSurfacesAtItsBatch) {
  DeviceLoader loader = loader_of(/*bad=*/3);
  loader.begin_epoch(0, 2);
  Batch batch;
  ASSERT_TRUE(loader.next(batch));
  EXPECT_EQ(batch.img.item_at(0), 2);
  EXPECT_THROW(loader.next(batch), UserError);
  ASSERT_TRUE(loader.next(batch));
  EXPECT_EQ(batch.img.item_at(0), 4);
}

TEST_F(Upload, AnEpochCanBeGivenUp) {
  DeviceLoader loader = loader_of();
  Batch batch;
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    loader.begin_epoch(epoch, epoch % kBatches);
    ASSERT_TRUE(loader.next(batch));
    EXPECT_EQ(batch.img.item_at(0), static_cast<double>(100 * epoch + epoch % kBatches));
  }
}

TEST_F(Upload, ABatchMayOutliveItsLoader) {
  Batch batch;
  {
    DeviceLoader loader = loader_of();
    loader.begin_epoch(0, 5);
    ASSERT_TRUE(loader.next(batch));
  }
  EXPECT_EQ(batch.img.item_at(7), 5);
  batch = Batch();
  synchronize(kCuda);
}

TEST_F(Upload, NextBeforeBeginIsAnError) {
  DeviceLoader loader = loader_of();
  Batch batch;
  EXPECT_THROW(loader.next(batch), Error);
}

TEST_F(Upload, TimeMarksMeasureTheDevicesWork) {
  const DeviceBackend& backend = *device_backend(DeviceType::kCUDA);
  const auto start = backend.mark_time(kCuda);
  const Tensor x = Tensor::full({1 << 20}, 1, DType::kF32, kCuda);
  const auto end = backend.mark_time(kCuda);
  EXPECT_GT(end->seconds_since(*start), 0);
  EXPECT_LT(end->seconds_since(*start), 10);
}

}  // namespace
}  // namespace osprey
