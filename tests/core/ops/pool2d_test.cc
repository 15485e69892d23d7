#include "core/ops/pool2d.h"

#include <cmath>
#include <limits>

#include "core/autograd/gradcheck.h"
#include "tests/core/ops/op_check.h"

namespace osprey {
namespace {

using testing::expect_agrees_with_f64;
using testing::expect_golden;
using testing::Golden;
using testing::nchw_to_nhwc;
using testing::nhwc_to_nchw;
using testing::run_op;
using testing::uniform;

testing::Op max_pool(const Pool2dParams& params) {
  return [params](const Variables& in) { return max_pool2d(in[0], params); };
}
testing::Op avg_pool(const Pool2dParams& params) {
  return [params](const Variables& in) { return avg_pool2d(in[0], params); };
}
testing::Op adaptive_pool(int64_t h, int64_t w) {
  return [h, w](const Variables& in) { return adaptive_avg_pool2d(in[0], h, w); };
}

testing::Op golden_op(const Golden& golden, const std::string& name) {
  const std::string op = golden.text(name, "op");
  if (op == "adaptive_avg_pool2d") {
    const auto [h, w] = golden.height_width(name, "output_size");
    return adaptive_pool(h, w);
  }
  Pool2dParams params{golden.integer(name, "kernel_size"), golden.integer(name, "stride")};
  if (golden.has_param(name, "padding")) params.padding = golden.integer(name, "padding");
  if (golden.has_param(name, "ceil_mode")) params.ceil_mode = golden.flag(name, "ceil_mode");
  if (golden.has_param(name, "count_include_pad")) {
    params.count_include_pad = golden.flag(name, "count_include_pad");
  }
  return op == "max_pool2d" ? max_pool(params) : avg_pool(params);
}

TEST(Pool2d, AgreesWithTheReference) {
  const Golden golden = Golden::open("ops/layers");
  for (const std::string& name : golden.cases("op", {"max_pool2d", "avg_pool2d", "adaptive_avg_pool2d"})) {
    const auto run = run_op(golden_op(golden, name), {nchw_to_nhwc(golden.tensor(name + "/input"))},
                            nchw_to_nhwc(golden.tensor(name + "/grad_output")));
    expect_golden(nhwc_to_nchw(run.value), golden.tensor(name + "/output"), name);
    expect_golden(nhwc_to_nchw(run.gradients[0]), golden.tensor(name + "/grad_input"), name);
  }
}

const Pool2dParams kParams[] = {
    {2, 2, 0, false, true}, {3, 2, 1, false, true}, {3, 2, 1, true, true},   {3, 2, 1, true, false},
    {1, 2, 0, false, true}, {3, 1, 1, false, true}, {2, 3, 1, false, false}, {5, 3, 2, true, true},
};

TEST(Pool2d, GradientsMatchFiniteDifferences) {
  const Tensor x = uniform({2, 7, 6, 3}, -1, 1, 1).to(DType::kF64);
  for (const Pool2dParams& params : kParams) {
    SCOPED_TRACE(::testing::Message() << params.kernel << " " << params.stride << " " << params.padding);
    EXPECT_GRADCHECK(max_pool(params), {x});
    EXPECT_GRADCHECK(avg_pool(params), {x});
  }
  for (const auto& [h, w] : {std::pair{1, 1}, {3, 4}, {7, 6}, {9, 2}}) {
    EXPECT_GRADCHECK(adaptive_pool(h, w), {x});
  }
}

TEST(Pool2d, PaddingCountsInTheAverageOnlyWhenAsked) {
  const Variable ones(Tensor::full({1, 3, 3, 1}, 1, DType::kF32));
  const double ninth = 1.0 / 9;
  EXPECT_TENSOR_NEAR(avg_pool2d(ones, {3, 2, 1, false, /*count_include_pad=*/true}).value(),
                     Tensor::full({1, 2, 2, 1}, 4 * ninth, DType::kF32), 0, 1e-6);
  EXPECT_TENSOR_EQ(avg_pool2d(ones, {3, 2, 1, false, /*count_include_pad=*/false}).value(),
                   Tensor::full({1, 2, 2, 1}, 1, DType::kF32));
}

class Pool2dDTypes : public ::testing::TestWithParam<DType> {};

TEST_P(Pool2dDTypes, AgreesWithF64) {
  const Tensor x = uniform({2, 17, 15, 70}, -1, 1, 1);  // more channels than one block of lanes
  for (const Pool2dParams& params : kParams) {
    SCOPED_TRACE(::testing::Message() << params.kernel << " " << params.stride << " " << params.padding);
    expect_agrees_with_f64(max_pool(params), {x}, GetParam());
    expect_agrees_with_f64(avg_pool(params), {x}, GetParam());
  }
  expect_agrees_with_f64(adaptive_pool(7, 7), {x}, GetParam());
}

TEST_P(Pool2dDTypes, NoImagesGiveNoResult) {
  const Tensor none({0, 8, 8, 3}, GetParam());
  for (const testing::Op& op : {max_pool({}), avg_pool({})}) {
    const auto run = run_op(op, {none}, Tensor({0, 4, 4, 3}, GetParam()));
    EXPECT_EQ(run.value.shape(), (Shape{0, 4, 4, 3}));
    EXPECT_EQ(run.gradients[0].shape(), none.shape());
  }
}

INSTANTIATE_TEST_SUITE_P(All, Pool2dDTypes, ::testing::Values(DType::kF32, DType::kBF16, DType::kF16),
                         [](const auto& info) { return name_of(info.param); });

TEST(MaxPool2d, PaddingNeverWinsAndNaNAlwaysDoes) {
  Tensor x = Tensor::full({1, 2, 2, 1}, -5, DType::kF32);
  EXPECT_TENSOR_EQ(max_pool2d(x, {3, 1, 1}).value(), Tensor::full({1, 2, 2, 1}, -5, DType::kF32));
  x.mutable_data<float>()[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(max_pool2d(x, {2, 2}).value().item()));
  x.fill(-std::numeric_limits<double>::infinity());
  EXPECT_EQ(max_pool2d(x, {2, 2}).value().item(), -std::numeric_limits<double>::infinity());
}

TEST(MaxPool2d, TheFirstOfEqualsGetsTheGradient) {
  const Variable x(Tensor::full({1, 2, 2, 1}, 3, DType::kF32), true);
  max_pool2d(x, {2, 2}).backward(1);
  EXPECT_TENSOR_EQ(x.grad(), Tensor::from({1.f, 0.f, 0.f, 0.f}, {1, 2, 2, 1}));
}

TEST(Pool2d, RefusesAKernelThatDoesNotFit) {
  EXPECT_THROW(max_pool2d(Tensor({1, 2, 2, 1}, DType::kF32), {3, 1}), Error);
  EXPECT_THROW(avg_pool2d(Tensor({1, 4, 4, 1}, DType::kF32), {3, 1, 2}), Error);
}

}  // namespace
}  // namespace osprey
