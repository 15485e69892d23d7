#include "losses/accuracy.h"

#include <cmath>

#include "tests/losses/loss_golden.h"

namespace osprey {
namespace {

TEST(Accuracy, NoRowsGiveZero) {
  EXPECT_EQ(accuracy(Tensor({0, 4}, DType::kF32), Tensor({0}, DType::kI64)).item(), 0);
}

TEST(Accuracy, ABrokenNetworkDoesNotLookAccurate) {
  const Tensor pred = Tensor::from<float>({std::nanf(""), 0, 1, 2}, {2, 2});
  EXPECT_EQ(accuracy(pred, Tensor::from<int64_t>({0, 1}, {2})).item(), 50);
}

TEST(Accuracy, OfEqualScoresTheFirstWins) {
  const Tensor pred = Tensor::zeros({2, 3}, DType::kF32);
  EXPECT_EQ(accuracy(pred, Tensor::from<int64_t>({0, 1}, {2})).item(), 50);
}

}  // namespace
}  // namespace osprey
