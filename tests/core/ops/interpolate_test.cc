#include "core/ops/interpolate.h"

#include "core/autograd/gradcheck.h"
#include "tests/core/ops/op_check.h"

namespace osprey {
namespace {

using testing::Golden;
using testing::nchw_to_nhwc;
using testing::nhwc_to_nchw;
using testing::run_op;
using testing::uniform;

enum Mode { kNearest, kBilinear, kAlignCorners };

testing::Op resize(int64_t h, int64_t w, Mode mode) {
  return [=](const Variables& in) {
    return mode == kNearest ? upsample_nearest(in[0], h, w)
                            : upsample_bilinear(in[0], h, w, mode == kAlignCorners);
  };
}

TEST(Interpolate, AgreesWithTheReference) {
  const Golden golden = Golden::open("ops/layers");
  for (const std::string& name : golden.cases("op", {"interpolate"})) {
    const Tensor grad = nchw_to_nhwc(golden.tensor(name + "/grad_output"));
    const Mode mode = golden.text(name, "mode") == "nearest" ? kNearest
                      : golden.flag(name, "align_corners")   ? kAlignCorners
                                                             : kBilinear;
    const auto run =
        run_op(resize(grad.dim(1), grad.dim(2), mode), {nchw_to_nhwc(golden.tensor(name + "/input"))}, grad);
    testing::expect_golden(nhwc_to_nchw(run.value), golden.tensor(name + "/output"), name);
    testing::expect_golden(nhwc_to_nchw(run.gradients[0]), golden.tensor(name + "/grad_input"), name);
  }
}

// The gradient gathers over an estimated range of outputs: sizes of every ratio must not lose one.
TEST(Interpolate, GradientsMatchFiniteDifferencesForEveryRatio) {
  for (const int64_t in : {1, 2, 3, 5}) {
    const Tensor x = uniform({1, in, 3, 2}, -1, 1, 1).to(DType::kF64);
    for (const int64_t out : {1, 2, 3, 4, 7, 11}) {
      for (const Mode mode : {kNearest, kBilinear, kAlignCorners}) {
        SCOPED_TRACE(::testing::Message() << in << " to " << out << " mode " << mode);
        EXPECT_GRADCHECK(resize(out, 4, mode), {x});
      }
    }
  }
}

// Each output's weights sum to 1, so the gradient of a sum is the output's size however it is spread.
TEST(Interpolate, NoGradientIsLostAtLargeRatios) {
  for (const Mode mode : {kNearest, kBilinear, kAlignCorners}) {
    for (const auto& [in, out] : {std::pair{7, 301}, {301, 7}, {64, 63}, {63, 64}, {100, 100}}) {
      const Variable x(uniform({1, in, in, 1}, -1, 1, 1), true);
      const Variable y = resize(out, out, mode)({x});
      if (y.state() == x.state()) continue;  // same size: nothing is done
      y.backward(Tensor::full(y.shape(), 1, DType::kF32));
      double total = 0;
      for (const double g : x.grad().to_doubles()) total += g;
      EXPECT_NEAR(total, out * out, 1e-3 * out) << in << " to " << out << " mode " << mode;
    }
  }
}

class InterpolateDTypes : public ::testing::TestWithParam<DType> {};

TEST_P(InterpolateDTypes, AgreesWithF64) {
  const Tensor x = uniform({2, 9, 11, 70}, -1, 1, 1);
  for (const Mode mode : {kNearest, kBilinear, kAlignCorners}) {
    testing::expect_agrees_with_f64(resize(18, 23, mode), {x}, GetParam());
  }
  EXPECT_EQ(upsample_nearest(Tensor({0, 3, 3, 2}, GetParam()), 6, 6).shape(), (Shape{0, 6, 6, 2}));
}

INSTANTIATE_TEST_SUITE_P(All, InterpolateDTypes, ::testing::Values(DType::kF32, DType::kBF16, DType::kF16),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace osprey
