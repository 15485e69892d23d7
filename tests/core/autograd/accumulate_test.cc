#include "core/autograd/accumulate.h"

#include "tests/golden.h"

namespace osprey {
namespace {

TEST(Accumulate, TakesTheFirstGradientWithoutACopy) {
  const Tensor gradient = Tensor::full({3}, 1, DType::kF32);
  Tensor sum;
  accumulate(sum, gradient);
  EXPECT_TRUE(sum.shares_storage(gradient));
}

TEST(Accumulate, NeverWritesIntoAGradientThatOthersHold) {
  const Tensor gradient = Tensor::full({3}, 1, DType::kF32);
  Tensor sum;
  accumulate(sum, gradient);
  accumulate(sum, gradient);
  EXPECT_TENSOR_EQ(gradient, Tensor::full({3}, 1, DType::kF32));
  EXPECT_TENSOR_EQ(sum, Tensor::full({3}, 2, DType::kF32));
}

TEST(Accumulate, AddsHalvesInF32AndRoundsOnce) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
    const Tensor a = testing::uniform({1003}, -2, 2, 1).to(dtype),
                 b = testing::uniform({1003}, -2, 2, 2).to(dtype);
    Tensor sum = a.clone();
    accumulate(sum, b);
    const std::vector<double> x = a.to_doubles(), y = b.to_doubles();
    Tensor exact({1003}, DType::kF64);
    for (int64_t i = 0; i < 1003; ++i) exact.mutable_data<double>()[i] = x[i] + y[i];
    EXPECT_TENSOR_EQ(sum, dtype == DType::kF64 ? exact : exact.to(DType::kF32).to(dtype));
  }
}

TEST(Accumulate, RefusesAnotherShape) {
  Tensor sum = Tensor::zeros({3}, DType::kF32);
  EXPECT_THROW(accumulate(sum, Tensor::zeros({4}, DType::kF32)), Error);
}

}  // namespace
}  // namespace osprey
