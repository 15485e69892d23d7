#include "core/ops/losses.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/autograd/gradcheck.h"
#include "tests/golden.h"

namespace osprey {
namespace {

using testing::uniform;

Tensor uniform64(Shape shape, double low, double high, uint64_t seed) {
  return uniform(std::move(shape), low, high, seed).to(DType::kF64);
}

TEST(Losses, GradientsMatchFiniteDifferences) {
  const Tensor x = uniform64({5, 4}, -3, 3, 1), t = uniform64({5, 4}, 0, 1, 2);
  const Tensor labels = Tensor::from<int64_t>({0, 3, 255, 1, 2}, {5});
  const Tensor weight = Tensor::from<float>({0.5f, 2, 1, 3}, {4});
  EXPECT_GRADCHECK([&](const Variables& in) { return softmax_cross_entropy(in[0], labels, 255); }, {x});
  EXPECT_GRADCHECK([&](const Variables& in) { return softmax_cross_entropy(in[0], labels, 255, weight); },
                   {x});
  EXPECT_GRADCHECK([&](const Variables& in) { return bce_with_logits(in[0], t); }, {x});
  EXPECT_GRADCHECK([&](const Variables& in) { return bce_with_logits(in[0], t, weight); }, {x});
  EXPECT_GRADCHECK([](const Variables& in) { return smooth_l1(in[0], 0.5); }, {x});
  EXPECT_GRADCHECK([](const Variables& in) { return absolute(in[0]); }, {x});
}

// Logits of every size that f16 can hold, and beyond, against targets of both kinds.
const std::vector<float> kExtremes{-1e6f, -65504, -1e4f, -88,  -20,   -9.39f, 0,
                                   8.4f,  20,     88,    1e4f, 65504, 1e6f};

TEST(Losses, AreFiniteForEveryLogit) {
  const int64_t n = static_cast<int64_t>(kExtremes.size());
  const Tensor x = Tensor::from(kExtremes, {n});
  for (const double target : {0.0, 0.5, 1.0}) {
    const Variable leaf(x, true);
    const Variable loss = bce_with_logits(leaf, Tensor::full({n}, target, DType::kF32));
    loss.backward(Tensor::full({n}, 1, DType::kF32));
    EXPECT_TRUE(all_finite(loss.value()) && all_finite(leaf.grad())) << target;
  }
  std::vector<float> pairs;
  std::vector<int64_t> labels;
  for (const float a : kExtremes) {
    for (const float b : kExtremes) {
      pairs.insert(pairs.end(), {a, b});
      labels.push_back(static_cast<int64_t>(labels.size() % 2));
    }
  }
  const Variable leaf(Tensor::from(pairs, {-1, 2}), true);
  const Variable loss = softmax_cross_entropy(leaf, Tensor::from(labels, {-1}), -100);
  loss.backward(Tensor::full(loss.shape(), 1, DType::kF32));
  EXPECT_TRUE(all_finite(loss.value()) && all_finite(leaf.grad()));
}

TEST(Losses, AHugeLogitKeepsTheFractionOfTheProbability) {
  // The probabilities are 1/2 each, although 1e6 + log 2 is not an f32.
  const Variable leaf(Tensor::full({1, 2}, 1e6, DType::kF32), true);
  const Variable loss = softmax_cross_entropy(leaf, Tensor::from<int64_t>({0}, {1}), -100);
  EXPECT_NEAR(loss.value().item(), std::log(2.0), 1e-6);
  loss.backward(Tensor::full({1}, 1, DType::kF32));
  EXPECT_NEAR(leaf.grad().to_doubles()[0], -0.5, 1e-6);
}

TEST(Losses, NaNLogitsStayNaNInValueAndGradient) {
  const Tensor x = Tensor::full({1, 2}, std::nan(""), DType::kF32);
  const Tensor ones = Tensor::full({1, 2}, 1, DType::kF32);
  const auto expect_nan = [&](const auto& op) {
    const Variable leaf(x, true);
    const Variable loss = op(leaf);
    loss.backward(Tensor::full(loss.shape(), 1, DType::kF32));
    for (const double value : loss.value().to_doubles()) EXPECT_TRUE(std::isnan(value));
    for (const double value : leaf.grad().to_doubles()) EXPECT_TRUE(std::isnan(value));
  };
  expect_nan([&](const Variable& v) { return bce_with_logits(v, ones); });
  expect_nan([&](const Variable& v) { return bce_with_logits(v, ones, Tensor::full({2}, 2, DType::kF32)); });
  expect_nan([](const Variable& v) { return smooth_l1(v, 1.0); });
  expect_nan([](const Variable& v) { return absolute(v); });
  expect_nan(
      [](const Variable& v) { return softmax_cross_entropy(v, Tensor::from<int64_t>({1}, {1}), -100); });
}

TEST(Losses, IgnoredRowsHideEvenNaN) {
  const Variable leaf(Tensor::full({1, 2}, std::nan(""), DType::kF32), true);
  const Variable loss = softmax_cross_entropy(leaf, Tensor::from<int64_t>({255}, {1}), 255);
  loss.backward(Tensor::full({1}, 1, DType::kF32));
  EXPECT_EQ(loss.value().item(), 0);
  EXPECT_EQ(leaf.grad().to_doubles(), (std::vector<double>{0, 0}));
}

TEST(Losses, HalvesAreComputedInF32) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const Tensor x = uniform({6, 3}, -4, 4, 3).to(dtype), t = uniform({6, 3}, 0, 1, 4);
    const Variable leaf(x, true);
    const Variable loss = bce_with_logits(leaf, t);
    EXPECT_EQ(loss.dtype(), DType::kF32);
    EXPECT_TRUE(bitwise_equal(loss.value(), bce_with_logits(x.to(DType::kF32), t).value()));
    loss.backward(Tensor::full({6, 3}, 1, DType::kF32));
    EXPECT_EQ(leaf.grad().dtype(), dtype);
  }
}

TEST(Losses, SmoothL1MeetsItsTwoBranchesAtTheKnee) {
  const Tensor d = Tensor::from<float>({-2, -0.5f, -0.25f, 0, 0.25f, 0.5f, 2}, {7});
  const Variable leaf(d, true);
  const Variable loss = smooth_l1(leaf, 0.5);
  loss.backward(Tensor::full({7}, 1, DType::kF32));
  EXPECT_EQ(loss.value().to_doubles(), (std::vector<double>{1.75, 0.25, 0.0625, 0, 0.0625, 0.25, 1.75}));
  EXPECT_EQ(leaf.grad().to_doubles(), (std::vector<double>{-1, -1, -0.5, 0, 0.5, 1, 1}));
}

TEST(Losses, ALabelOutOfRangeIsNamedWithTheRange) {
  const Tensor x = uniform({2, 80}, -1, 1, 5);
  try {
    softmax_cross_entropy(x, Tensor::from<int64_t>({3, 81}, {2}), 255);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "softmax_cross_entropy: label 81 in row 1 is outside [0, 80) and not the ignored 255");
  }
}

TEST(Losses, EmptyInputsGiveEmptyLosses) {
  const Variable leaf(Tensor({0, 4}, DType::kF32), true);
  const Variable loss = softmax_cross_entropy(leaf, Tensor({0}, DType::kI64), -100);
  EXPECT_EQ(loss.shape(), Shape{0});
  loss.backward(Tensor({0}, DType::kF32));
  EXPECT_EQ(leaf.grad().shape(), (Shape{0, 4}));
  EXPECT_EQ(bce_with_logits(leaf, Tensor({0, 4}, DType::kF32)).shape(), (Shape{0, 4}));
}

TEST(Losses, LabelsOfMapsKeepTheirShape) {
  const Tensor x = uniform({2, 3, 4, 5}, -1, 1, 6);
  const Tensor labels = Tensor::full({2, 3, 4}, 2, DType::kU8);
  EXPECT_EQ(softmax_cross_entropy(x, labels, 255).shape(), (Shape{2, 3, 4}));
}

}  // namespace
}  // namespace osprey
