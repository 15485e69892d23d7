#include "core/ops/weight_standardize.h"

#include <cmath>

#include "core/autograd/gradcheck.h"
#include "tests/core/ops/op_check.h"

namespace osprey {
namespace {

using testing::expect_agrees_with_f64;
using testing::uniform;

constexpr StandardizeMode kModes[] = {StandardizeMode::kVariancePlusEps, StandardizeMode::kStdPlusEps};

Tensor uniform64(Shape shape, uint64_t seed) {
  return uniform(std::move(shape), -1, 1, seed).to(DType::kF64);
}

testing::Op standardize(StandardizeMode mode) {
  return [mode](const Variables& in) { return weight_standardize(in[0], {}, {}, mode, 1e-5); };
}

TEST(WeightStandardize, GradientsMatchFiniteDifferences) {
  const Tensor gamma = uniform64({4, 1, 1, 1}, 2), beta = uniform64({4, 1, 1, 1}, 3);
  for (const StandardizeMode mode : kModes) {
    const auto scaled = [&](const Variables& in) {
      return weight_standardize(in[0], gamma, beta, mode, 1e-5);
    };
    EXPECT_GRADCHECK(scaled, {uniform64({4, 2, 3, 2}, 1)});
    EXPECT_GRADCHECK(standardize(mode), {uniform64({3, 1, 1, 5}, 4)});
  }
  // Deviations as small as eps.
  Tensor small = uniform64({2, 1, 1, 6}, 5);
  for (int64_t i = 0; i < small.numel(); ++i) small.mutable_data<double>()[i] *= 3e-3;
  EXPECT_GRADCHECK(standardize(StandardizeMode::kVariancePlusEps), {small},
                   {.step = 1e-8, .tolerance = 1e-5});
}

TEST(WeightStandardize, FiltersHaveMeanBetaAndDeviationGamma) {
  const Tensor gamma = Tensor::from<float>({2, 0.5f}, {2}), beta = Tensor::from<float>({-1, 3}, {2});
  const Tensor y = weight_standardize(uniform({2, 3, 3, 40}, 5, 9, 1), gamma, beta,
                                      StandardizeMode::kVariancePlusEps, 1e-5)
                       .value();
  const FilterMoments moments = filter_moments(y, 0);
  EXPECT_TENSOR_NEAR(moments.mean, beta, 1e-6, 1e-6);
  EXPECT_TENSOR_NEAR(moments.deviation, gamma, 1e-5, 1e-5);
}

TEST(WeightStandardize, ConstantFiltersAndFiltersOfOneElementAreZero) {
  for (const Device device : testing::devices_in_build()) {
    for (const StandardizeMode mode : kModes) {
      for (const Shape& shape : {Shape{2, 1, 1, 1}, Shape{2, 3, 3, 4}}) {
        Variable weight(Tensor::full(shape, 0.3, DType::kF32).to(device), true);
        const Variable y = weight_standardize(weight, {}, {}, mode, 1e-5);
        EXPECT_TENSOR_NEAR(y.value(), Tensor::zeros(shape, DType::kF32), 1e-2, 0);
        y.backward(uniform(shape, -1, 1, 8).to(device));
        EXPECT_TRUE(all_finite(weight.grad()));
      }
    }
  }
}

class WeightStandardizeDTypes : public ::testing::TestWithParam<DType> {};

TEST_P(WeightStandardizeDTypes, AgreesWithF64ToRounding) {
  for (const StandardizeMode mode : kModes) {
    expect_agrees_with_f64(standardize(mode), {uniform64({37, 3, 3, 19}, 6)}, GetParam());
    expect_agrees_with_f64(standardize(mode), {uniform64({5, 1, 1, 3}, 7)}, GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(All, WeightStandardizeDTypes,
                         ::testing::Values(DType::kF32, DType::kBF16, DType::kF16),
                         [](const auto& info) { return name_of(info.param); });

// A variance of 4e-6 is below the smallest normal half, and squares of weights around 300 are above the
// largest: only f32 inside gets both right.
TEST(WeightStandardize, HalfWeightsAreMeasuredInF32) {
  for (const Device device : testing::devices_in_build()) {
    for (const double scale : {2e-3, 300.0}) {
      Tensor weight = uniform({4, 3, 3, 16}, -1, 1, 9);
      for (int64_t i = 0; i < weight.numel(); ++i)
        weight.mutable_data<float>()[i] *= static_cast<float>(scale);
      const Tensor half = weight.to(DType::kF16);
      const auto run = [&](const Tensor& w) {
        return weight_standardize(w.to(device), {}, {}, StandardizeMode::kVariancePlusEps, 1e-5)
            .value()
            .to(kCPU);
      };
      EXPECT_TENSOR_NEAR(run(half), run(half.to(DType::kF32)), 1e-3, 1e-3);
    }
  }
}

// Story 1 of DetectoRS in half precision: filters with a deviation of 1e-2 divide the gradient by it. What
// still fits with a loss scale of 64 must come out finite, what does not must come out infinite, so that the
// iteration is skipped.
TEST(WeightStandardize, TheWeightGradientOverflowsOnlyWhereItDoesNotFit) {
  for (const Device device : testing::devices_in_build()) {
    Tensor weight = uniform({1, 1, 1, 64}, -0.017, 0.017, 10);  // deviation 1e-2
    const auto gradient = [&](double loss_scale) {
      Variable w(weight.to(DType::kF16).to(device), true);
      const Variable y = weight_standardize(w, {}, {}, StandardizeMode::kVariancePlusEps, 1e-5);
      Tensor g = Tensor::zeros(y.shape(), DType::kF16);
      g.mutable_data<Half>()[0] = Half(static_cast<float>(10 * loss_scale));
      y.backward(g.to(device));
      return w.grad();
    };
    EXPECT_TRUE(all_finite(gradient(64)));
    EXPECT_FALSE(all_finite(gradient(512)));
  }
}

}  // namespace
}  // namespace osprey
