#include "core/tensor/storage.h"

#include <gtest/gtest.h>

#include "core/tensor/tensor.h"

namespace osprey {
namespace {

TEST(Storage, VersionGrowsWithEveryMutableAccess) {
  Tensor tensor = Tensor::zeros({4}, DType::kF32);
  const uint64_t version = tensor.storage()->version();
  tensor.data<float>();
  tensor.raw();
  EXPECT_EQ(tensor.storage()->version(), version);
  tensor.mutable_data<float>();
  EXPECT_GT(tensor.storage()->version(), version);
}

TEST(Storage, AViewsWriteIsSeenByTheWhole) {
  Tensor tensor = Tensor::zeros({4, 2}, DType::kF32);
  const uint64_t version = tensor.storage()->version();
  tensor.slice(1, 2).fill(3);
  EXPECT_GT(tensor.storage()->version(), version);
}

TEST(Storage, DerivedDataDiesWithIt) {
  std::weak_ptr<void> watched;
  {
    const Tensor tensor = Tensor::zeros({4}, DType::kF32);
    tensor.storage()->derived() = std::make_shared<int>(7);
    watched = tensor.storage()->derived();
    EXPECT_FALSE(watched.expired());
  }
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace osprey
