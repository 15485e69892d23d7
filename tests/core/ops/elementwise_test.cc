#include "core/ops/elementwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/autograd/gradcheck.h"
#include "core/base/rng.h"

namespace osprey {
namespace {

Tensor uniform(Shape shape, double low, double high, uint64_t seed, DType dtype = DType::kF64) {
  CounterRng rng(seed);
  Tensor tensor(std::move(shape), DType::kF64);
  double* values = tensor.mutable_data<double>();
  for (int64_t i = 0; i < tensor.numel(); ++i) values[i] = rng.uniform(low, high);
  return tensor.to(dtype);
}

TEST(Elementwise, GradientsMatchFiniteDifferences) {
  const Tensor a = uniform({3, 5}, -2, 2, 1), b = uniform({3, 5}, -2, 2, 2);
  EXPECT_GRADCHECK([](const Variables& in) { return in[0] + in[1]; }, {a, b});
  EXPECT_GRADCHECK([](const Variables& in) { return in[0] - in[1]; }, {a, b});
  EXPECT_GRADCHECK([](const Variables& in) { return in[0] * in[1]; }, {a, b});
  EXPECT_GRADCHECK([](const Variables& in) { return in[0] * in[0]; }, {a});
  EXPECT_GRADCHECK([](const Variables& in) { return -1.5 * in[0] + 3.0; }, {a});
  EXPECT_GRADCHECK([](const Variables& in) { return relu(in[0]); }, {a});
  EXPECT_GRADCHECK([](const Variables& in) { return add_relu(in[0], in[1]); }, {a, b});
  EXPECT_GRADCHECK([](const Variables& in) { return sigmoid(in[0]); }, {a});
  EXPECT_GRADCHECK([](const Variables& in) { return exp(in[0]); }, {a});
}

class ElementwiseDTypes : public ::testing::TestWithParam<DType> {};

TEST_P(ElementwiseDTypes, AgreesWithF64ToRounding) {
  const DType dtype = GetParam();
  // An odd length, so that block tails are used; several blocks, so that threads are.
  const Tensor a = uniform({40037}, -3, 3, 3, dtype), b = uniform({40037}, -3, 3, 4, dtype);
  const std::vector<double> x = a.to_doubles(), y = b.to_doubles();
  const std::vector<double> sum = (Variable(a) + Variable(b)).value().to_doubles();
  const std::vector<double> gate = sigmoid(a).value().to_doubles();
  const double epsilon = dtype == DType::kF32 ? 1e-6 : dtype == DType::kF16 ? 1e-3 : 8e-3;
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_NEAR(sum[i], x[i] + y[i], epsilon * (std::abs(x[i] + y[i]) + 1e-3)) << i;
    ASSERT_NEAR(gate[i], 1 / (1 + std::exp(-x[i])), epsilon) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Floating, ElementwiseDTypes,
                         ::testing::Values(DType::kF32, DType::kF16, DType::kBF16),
                         [](const auto& info) { return name_of(info.param); });

TEST(Elementwise, HalfOverflowsToInfinityAbove65504) {
  const Variable big(Tensor::full({3}, 65504, DType::kF16));
  EXPECT_EQ((big + big).value().item_at(0), std::numeric_limits<double>::infinity());
  EXPECT_EQ((big * big).value().item_at(2), std::numeric_limits<double>::infinity());
  EXPECT_EQ((big - big).value().item_at(1), 0);
}

TEST(Elementwise, SigmoidIsFiniteForEveryFiniteInput) {
  const Tensor x = Tensor::from<float>({-3e38f, -1e4f, -88.f, 0.f, 88.f, 1e4f, 3e38f}, {7});
  EXPECT_TRUE(all_finite(sigmoid(x).value()));
  EXPECT_EQ(sigmoid(x).value().item_at(0), 0);
  EXPECT_EQ(sigmoid(x).value().item_at(6), 1);
}

TEST(Elementwise, ReluKeepsNaN) {
  const Tensor x = Tensor::full({1}, std::nan(""), DType::kF32);
  EXPECT_TRUE(std::isnan(relu(x).value().item()));
  EXPECT_TRUE(std::isnan(add_relu(x, x).value().item()));
}

TEST(Elementwise, EmptyInputsGiveEmptyResults) {
  const Variable empty(Tensor({0, 4}, DType::kF32), /*requires_grad=*/true);
  const Variable result = relu(empty * empty);
  EXPECT_EQ(result.shape(), (Shape{0, 4}));
  result.backward(Tensor({0, 4}, DType::kF32));
  EXPECT_EQ(empty.grad().shape(), (Shape{0, 4}));
}

TEST(Elementwise, RefusesDifferentShapesNamingBoth) {
  try {
    Variable(Tensor({2, 3}, DType::kF32)) + Variable(Tensor({3, 2}, DType::kF32));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "elementwise: f32 (3, 2) cpu beside f32 (2, 3) cpu");
  }
}

TEST(Elementwise, CastConvertsTheGradientBack) {
  const Variable x(Tensor::full({2}, 1.5, DType::kF32), /*requires_grad=*/true);
  const Variable half = cast(x, DType::kF16);
  EXPECT_EQ(half.dtype(), DType::kF16);
  half.backward(Tensor::full({2}, 0.25, DType::kF16));
  EXPECT_EQ(x.grad().dtype(), DType::kF32);
  EXPECT_EQ(x.grad().to_doubles(), (std::vector<double>{0.25, 0.25}));
}

}  // namespace
}  // namespace osprey
