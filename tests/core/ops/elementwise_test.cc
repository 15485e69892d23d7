#include "core/ops/elementwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/autograd/gradcheck.h"
#include "core/base/rng.h"
#include "tests/core/ops/op_check.h"

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

class ElementwiseDTypes : public ::testing::TestWithParam<std::tuple<Device, DType>> {
 protected:
  const Device device = std::get<0>(GetParam());
  const DType dtype = std::get<1>(GetParam());
};

TEST_P(ElementwiseDTypes, AgreesWithF64ToRounding) {
  // An odd length, so that block tails are used; several blocks, so that threads are.
  const Tensor a = uniform({40037}, -3, 3, 3, dtype).to(device),
               b = uniform({40037}, -3, 3, 4, dtype).to(device);
  const std::vector<double> x = a.to_doubles(), y = b.to_doubles();
  const std::vector<double> sum = (Variable(a) + Variable(b)).value().to_doubles();
  const std::vector<double> gate = sigmoid(a).value().to_doubles();
  const double epsilon = dtype == DType::kF32 ? 1e-6 : dtype == DType::kF16 ? 1e-3 : 8e-3;
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_NEAR(sum[i], x[i] + y[i], epsilon * (std::abs(x[i] + y[i]) + 1e-3)) << i;
    ASSERT_NEAR(gate[i], 1 / (1 + std::exp(-x[i])), epsilon) << i;
  }
}

TEST_P(ElementwiseDTypes, ValuesAndGradientsOfEveryOpAgreeWithF64) {
  const Tensor a = uniform({7, 331}, -2, 2, 5), b = uniform({7, 331}, -2, 2, 6);
  const testing::Op ops[] = {
      [](const Variables& in) { return in[0] + in[1]; },
      [](const Variables& in) { return in[0] - in[1]; },
      [](const Variables& in) { return in[0] * in[1]; },
      [](const Variables& in) { return -1.5 * in[0]; },
      [](const Variables& in) { return in[0] + 3.0; },
      [](const Variables& in) { return relu(in[0]); },
      [](const Variables& in) { return add_relu(in[0], in[1]); },
      [](const Variables& in) { return exp(in[0]); },
      [](const Variables& in) { return sigmoid(in[0]); },
  };
  for (const testing::Op& op : ops) {
    Tensors exact{a.to(dtype).to(DType::kF64), b.to(dtype).to(DType::kF64)};
    const Tensor grad = uniform({7, 331}, -1, 1, 7).to(dtype);
    const auto expected = testing::run_op(op, exact, grad);
    const auto actual = testing::run_op(op, {exact[0].to(dtype), exact[1].to(dtype)}, grad, device);
    // A gradient may start from a value that was itself rounded.
    const double tolerance = 2 * testing::rounding_tolerance(dtype);
    EXPECT_LE(testing::relative_l2(actual.value, expected.value), tolerance);
    EXPECT_LE(testing::relative_l2(actual.gradients[0], expected.gradients[0]), tolerance);
  }
}

TEST_P(ElementwiseDTypes, ConvertsFillsAndAccumulatesWhereTheTensorLies) {
  const Tensor values = uniform({1003}, -4, 4, 8).to(device);
  EXPECT_TRUE(bitwise_equal(values.to(dtype), values.to(kCPU).to(dtype)));
  EXPECT_TRUE(bitwise_equal(values.to(DType::kI32), values.to(kCPU).to(DType::kI32)));
  EXPECT_TRUE(bitwise_equal(Tensor::full({31}, 1.75, dtype, device), Tensor::full({31}, 1.75, dtype)));
  EXPECT_TRUE(bitwise_equal(Tensor::zeros({31}, dtype, device), Tensor::zeros({31}, dtype)));
  const Variable x(Tensor::full({5}, 1.5, dtype, device), /*requires_grad=*/true);
  (x + x).backward(Tensor::full({5}, 0.25, dtype, device));
  EXPECT_EQ(x.grad().to_doubles(), std::vector<double>(5, 0.5));
}

INSTANTIATE_TEST_SUITE_P(Floating, ElementwiseDTypes,
                         ::testing::Combine(::testing::ValuesIn(testing::devices_in_build()),
                                            ::testing::Values(DType::kF32, DType::kF16, DType::kBF16)),
                         [](const auto& info) {
                           return testing::device_name(std::get<0>(info.param)) + "_" +
                                  name_of(std::get<1>(info.param));
                         });

class ElementwiseDevices : public ::testing::TestWithParam<Device> {};
INSTANTIATE_TEST_SUITE_P(All, ElementwiseDevices, ::testing::ValuesIn(testing::devices_in_build()),
                         [](const auto& info) { return testing::device_name(info.param); });

TEST_P(ElementwiseDevices, HalfOverflowsToInfinityAbove65504) {
  const Variable big(Tensor::full({3}, 65504, DType::kF16, GetParam()));
  EXPECT_EQ((big + big).value().item_at(0), std::numeric_limits<double>::infinity());
  EXPECT_EQ((big * big).value().item_at(2), std::numeric_limits<double>::infinity());
  EXPECT_EQ((big - big).value().item_at(1), 0);
}

TEST_P(ElementwiseDevices, SigmoidIsFiniteForEveryFiniteInput) {
  const Tensor x = Tensor::from<float>({-3e38f, -1e4f, -88.f, 0.f, 88.f, 1e4f, 3e38f}, {7}).to(GetParam());
  EXPECT_TRUE(all_finite(sigmoid(x).value()));
  EXPECT_EQ(sigmoid(x).value().item_at(0), 0);
  EXPECT_EQ(sigmoid(x).value().item_at(6), 1);
}

TEST_P(ElementwiseDevices, ReluKeepsNaN) {
  const Tensor x = Tensor::full({1}, std::nan(""), DType::kF32, GetParam());
  EXPECT_TRUE(std::isnan(relu(x).value().item()));
  EXPECT_TRUE(std::isnan(add_relu(x, x).value().item()));
}

TEST_P(ElementwiseDevices, EmptyInputsGiveEmptyResults) {
  const Variable empty(Tensor({0, 4}, DType::kF32, GetParam()), /*requires_grad=*/true);
  const Variable result = relu(empty * empty);
  EXPECT_EQ(result.shape(), (Shape{0, 4}));
  result.backward(Tensor({0, 4}, DType::kF32, GetParam()));
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

TEST_P(ElementwiseDevices, CastConvertsTheGradientBack) {
  const Variable x(Tensor::full({2}, 1.5, DType::kF32, GetParam()), /*requires_grad=*/true);
  const Variable half = cast(x, DType::kF16);
  EXPECT_EQ(half.dtype(), DType::kF16);
  half.backward(Tensor::full({2}, 0.25, DType::kF16, GetParam()));
  EXPECT_EQ(x.grad().dtype(), DType::kF32);
  EXPECT_EQ(x.grad().to_doubles(), (std::vector<double>{0.25, 0.25}));
}

}  // namespace
}  // namespace osprey
