#include "core/ops/magnitudes.h"

#include <cmath>
#include <limits>

#include "tests/core/ops/op_check.h"
#include "tests/devices.h"

namespace osprey {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

class MagnitudesTest : public ::testing::TestWithParam<std::tuple<Device, DType>> {
 protected:
  Tensor placed(const Tensor& x) const {
    return x.to(std::get<DType>(GetParam())).to(std::get<Device>(GetParam()));
  }
  Magnitudes measured(const std::vector<double>& values) const {
    return measure_magnitudes(placed(Tensor::from(values, {static_cast<int64_t>(values.size())})));
  }
};

TEST_P(MagnitudesTest, CountsEveryKindOfNumber) {
  const Magnitudes seen = measured({0, -0.0, 1, -1.5, 3, -kInf, kInf, kInf, NAN, 0x1p-14});
  EXPECT_EQ(seen.count, 10);
  EXPECT_EQ(seen.zeros, 2);
  EXPECT_EQ(seen.infs, 3);
  EXPECT_EQ(seen.nans, 1);
  EXPECT_EQ(seen.nonzero(), 4);
  EXPECT_EQ(seen.largest, 3);
  EXPECT_EQ(seen.smallest, 0x1p-14);
  EXPECT_EQ(seen.binades[127], 2);       // 1 and 1.5
  EXPECT_EQ(seen.binades[128], 1);       // 3
  EXPECT_EQ(seen.binades[127 - 14], 1);  // 2^-14
  EXPECT_EQ(seen.binades[0], 0);         // zeros are no small numbers
  EXPECT_FALSE(seen.finite());
}

// Against a plain loop over doubles, at sizes on both sides of a worker's and a lane's share.
TEST_P(MagnitudesTest, AgreesWithAPlainLoop) {
  for (const int64_t n : {1, 63, 257, 100003}) {
    Tensor x = testing::uniform({n}, -9, 9, 5);
    float* values = x.mutable_data<float>();
    for (int64_t i = 0; i < n; ++i) values[i] = std::exp2(values[i]) * (i % 7 == 0 ? 0 : 1);
    const Tensor used = placed(x);
    Magnitudes expected;
    double smallest = kInf;
    for (const double v : used.to_doubles()) {
      expected.zeros += v == 0;
      expected.largest = std::max(expected.largest, std::abs(v));
      if (v == 0) continue;
      smallest = std::min(smallest, std::abs(v));
      ++expected.binades[127 + std::ilogb(v)];
    }
    const Magnitudes seen = measure_magnitudes(used);
    EXPECT_EQ(seen.count, n);
    EXPECT_EQ(seen.zeros, expected.zeros);
    EXPECT_EQ(seen.largest, expected.largest);
    EXPECT_EQ(seen.smallest, smallest == kInf ? 0 : smallest);
    EXPECT_EQ(seen.binades, expected.binades);
    EXPECT_TRUE(seen.finite());
  }
}

TEST_P(MagnitudesTest, OfNothingIsNothing) {
  const Magnitudes seen = measure_magnitudes(placed(Tensor({0, 3}, DType::kF32)));
  EXPECT_EQ(seen.count, 0);
  EXPECT_EQ(seen.largest, 0);
  EXPECT_EQ(seen.smallest, 0);
  EXPECT_TRUE(seen.finite());
}

TEST_P(MagnitudesTest, MergesAsIfMeasuredTogether) {
  Magnitudes merged = measured({0, 2, kInf});
  merged.merge(measured({0.25, NAN}));
  const Magnitudes together = measured({0, 2, kInf, 0.25, NAN});
  EXPECT_EQ(merged.binades, together.binades);
  EXPECT_EQ(merged.count, together.count);
  EXPECT_EQ(merged.largest, 2);
  EXPECT_EQ(merged.smallest, 0.25);
  EXPECT_EQ(merged.nans, 1);
}

INSTANTIATE_TEST_SUITE_P(All, MagnitudesTest,
                         ::testing::Combine(::testing::ValuesIn(testing::devices_in_build()),
                                            ::testing::Values(DType::kF32, DType::kF16, DType::kBF16,
                                                              DType::kF64)),
                         [](const auto& info) {
                           return testing::device_name(std::get<0>(info.param)) + "_" +
                                  name_of(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace osprey
