#include <gtest/gtest.h>

#include "core/backend/cuda/runtime.h"
#include "core/backend/dense_math.h"
#include "core/ops/channel_sum.h"
#include "core/ops/linear.h"
#include "core/ops/losses.h"
#include "core/ops/norm.h"
#include "core/ops/reduce.h"
#include "core/ops/roi_align.h"
#include "core/ops/shape_ops.h"
#include "tests/core/ops/op_check.h"

// Every op that the tests in tests/core/ops do not already run on each device: value and gradients on CUDA
// against the CPU in f64 (which those tests hold against the reference).
namespace osprey {
namespace {

using testing::Op;
using testing::uniform;

constexpr Device kCuda{DeviceType::kCUDA, 0};

class CudaOps : public ::testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no GPU";
  }
  const DType dtype = GetParam();

  // inputs[i] in dtypes[i] (`dtype` where there is none), on both sides with the same numbers. `slack`
  // multiplies what one rounding costs.
  void expect_agrees(const Op& op, const Tensors& inputs, double slack = 2,
                     std::vector<DType> dtypes = {}) const {
    dtypes.resize(inputs.size(), dtype);
    Tensors typed, exact;
    for (size_t i = 0; i < inputs.size(); ++i) {
      typed.push_back(inputs[i].to(dtypes[i]));
      exact.push_back(typed[i].to(DType::kF64));
    }
    Shape shape;
    {
      const NoGradGuard no_grad;
      shape = op(Variables(exact.begin(), exact.end())).shape();
    }
    const Tensor grad = uniform(shape, -1, 1, 99).to(dtype);
    const testing::OpRun expected = testing::run_op(op, exact, grad);
    const int64_t waits = synchronization_count();
    const testing::OpRun actual = testing::run_op(op, typed, grad, kCuda);
    EXPECT_EQ(synchronization_count() - waits, static_cast<int64_t>(1 + inputs.size()))
        << "the host waits for the results and for nothing else";
    const double tolerance = slack * testing::rounding_tolerance(dtype);
    EXPECT_LE(testing::relative_l2(actual.value, expected.value), tolerance);
    for (size_t i = 0; i < inputs.size(); ++i) {
      EXPECT_LE(testing::relative_l2(actual.gradients[i], expected.gradients[i]), tolerance)
          << "gradient " << i;
    }
  }
};

INSTANTIATE_TEST_SUITE_P(All, CudaOps, ::testing::Values(DType::kF32, DType::kBF16, DType::kF16),
                         [](const auto& info) { return name_of(info.param); });

TEST_P(CudaOps, BatchNormInEveryWay) {
  for (const Shape& shape : {Shape{2, 67, 61, 4}, {1, 33, 31, 37}, {2, 17, 19, 64}, {1, 5, 5, 700}, {7, 5}}) {
    for (const bool training : {false, true}) {
      for (const bool relu : {false, true}) {
        for (const bool residual : {false, true}) {
          if (residual && !relu) continue;
          SCOPED_TRACE(::testing::Message() << to_string(shape) << training << relu << residual);
          const int64_t c = shape.back();
          const Tensor mean = uniform({c}, -0.5, 0.5, 91), var = uniform({c}, 0.5, 1.5, 92);
          const Op op = [&](const Variables& in) {
            const Device device = in[0].device();
            Buffer running_mean{mean.to(device), {}}, running_var{var.to(device), {}};
            if (!relu) return batch_norm(in[0], in[1], in[2], running_mean, running_var, training, 0.1, 1e-5);
            return batch_norm_relu(in[0], in[1], in[2], running_mean, running_var, training, 0.1, 1e-5,
                                   residual ? in[3] : Variable());
          };
          Tensors inputs{uniform(shape, -1, 3, 1), uniform({c}, 0.5, 2, 2), uniform({c}, -1, 1, 3)};
          std::vector<DType> dtypes{dtype, DType::kF32, DType::kF32};
          if (residual) inputs.push_back(uniform(shape, -1, 1, 4)), dtypes.push_back(dtype);
          expect_agrees(op, inputs, 8, dtypes);  // some elements fall on the other side of a relu
        }
      }
    }
  }
}

TEST_P(CudaOps, BatchNormStagesTheSameStatistics) {
  const Tensor x = uniform({2, 31, 29, 12}, 99, 101, 1).to(dtype);
  const Tensor one = Tensor::full({12}, 1, DType::kF32), zero = Tensor::zeros({12}, DType::kF32);
  const auto staged = [&](Device device) {
    Buffer mean{zero.to(device), {}}, var{one.to(device), {}};
    batch_norm(x.to(device), one.to(device), zero.to(device), mean, var, true, 0.1, 1e-5);
    return Tensors{mean.staged, var.staged};
  };
  const Tensors actual = staged(kCuda), expected = staged(kCPU);
  EXPECT_LE(testing::relative_l2(actual[0], expected[0]), 1e-6);
  EXPECT_LE(testing::relative_l2(actual[1], expected[1]), 1e-5);
}

TEST_P(CudaOps, GroupNorm) {
  for (const auto& [shape, groups] :
       {std::pair{Shape{2, 67, 61, 4}, 4}, {{9, 7, 7, 64}, 32}, {{1, 33, 31, 36}, 1}, {{3, 5, 4, 6}, 2}}) {
    SCOPED_TRACE(to_string(shape));
    const int64_t c = shape.back();
    expect_agrees(
        [groups = groups](const Variables& in) { return group_norm(in[0], in[1], in[2], groups, 1e-5); },
        {uniform(shape, -1, 3, 1), uniform({c}, 0.5, 2, 2), uniform({c}, -1, 1, 3)}, 4,
        {dtype, DType::kF32, DType::kF32});
  }
}

TEST_P(CudaOps, SumsAndMeans) {
  for (const int64_t n : {1, 7, 255, 1000, 300001}) {
    SCOPED_TRACE(n);
    expect_agrees([](const Variables& in) { return sum(in[0]); }, {uniform({n}, 0, 1, 1)});
    if (n > 1000) continue;  // 1 / n is below what f16 resolves
    expect_agrees([](const Variables& in) { return mean(in[0]); }, {uniform({n}, 0, 1, 1)});
  }
  const Variable none(Tensor({0, 4}, dtype, kCuda), true);
  mean(none).backward();
  EXPECT_EQ(mean(none).value().item(), 0);
}

TEST_P(CudaOps, ChannelSum) {
  for (const Shape& shape : {Shape{1, 1}, {5, 3}, {70001, 2}, {2, 19, 23, 65}, {3, 1030}}) {
    const Tensor x = uniform(shape, -1, 2, 1).to(dtype);
    EXPECT_LE(testing::relative_l2(channel_sum(x.to(kCuda)), channel_sum(x.to(DType::kF64))), 1e-6)
        << to_string(shape);
  }
}

TEST_P(CudaOps, SumsAreTheSameEveryTime) {
  const Tensor x = uniform({40, 31, 29, 12}, -1, 1, 1).to(dtype).to(kCuda);
  EXPECT_TRUE(bitwise_equal(channel_sum(x), channel_sum(x)));
  EXPECT_TRUE(bitwise_equal(sum(x).value(), sum(x).value()));
}

TEST_P(CudaOps, RowHelpers) {
  const Tensor x = uniform({33, 81}, -5, 5, 2).to(dtype);
  EXPECT_TENSOR_NEAR(softmax_rows(x.to(kCuda)), softmax_rows(x), 1e-7, 1e-6);
  EXPECT_TENSOR_EQ(argmax_rows(x.to(kCuda)), argmax_rows(x));
}

TEST_P(CudaOps, ShapeOps) {
  const Tensor x = uniform({4, 2, 6}, -1, 1, 1), y = uniform({2, 2, 6}, -1, 1, 2);
  const Tensor picks = Tensor::from<int64_t>({3, 0, 3, 1, 3}, {5}),
               channels = Tensor::from<int64_t>({2, 0, 1, 5}, {4});
  expect_agrees([](const Variables& in) { return reshape(in[0], {8, -1}); }, {x});
  expect_agrees([](const Variables& in) { return concat({in[0], in[1], in[0]}); }, {x, y});
  expect_agrees([](const Variables& in) { return slice_rows(in[0], 1, 3); }, {x});
  expect_agrees([&](const Variables& in) { return gather_rows(in[0], picks); }, {x});
  expect_agrees([&](const Variables& in) { return gather_channel(in[0], channels); }, {x});
  expect_agrees([&](const Variables& in) { return gather_group(reshape(in[0], {4, 12}), channels, 2); }, {x});
  const Tensor none({0, 4, 6}, dtype, kCuda), no_index({0}, DType::kI64, kCuda);
  EXPECT_EQ(gather_rows(none, no_index).shape(), none.shape());
  EXPECT_EQ(gather_channel(none, no_index).shape(), (Shape{0, 4}));
}

TEST_P(CudaOps, LinearOfEmptyAndOddShapes) {
  const Op op = [](const Variables& in) { return linear(in[0], in[1], in[2]); };
  for (const auto& [rows, in, out] : {std::array{1, 1, 1}, {3, 7, 5}, {130, 33, 81}}) {
    expect_agrees(op,
                  {uniform({rows, in}, -1, 1, 1), uniform({out, in}, -1, 1, 2), uniform({out}, -1, 1, 3)});
  }
  const testing::OpRun empty = testing::run_op(
      op, {Tensor({0, 6}, dtype), Tensor::full({4, 6}, 1, dtype), Tensor::full({4}, 1, dtype)},
      Tensor({0, 4}, dtype), kCuda);
  EXPECT_TENSOR_EQ(empty.gradients[1], Tensor::zeros({4, 6}, dtype));
}

TEST_P(CudaOps, Losses) {
  const Tensor x = uniform({5, 4}, -3, 3, 1), t = uniform({5, 4}, 0, 1, 2);
  const Tensor labels = Tensor::from<int64_t>({0, 3, 255, 1, 2}, {5});
  const Tensor weight = Tensor::from<float>({0.5f, 2, 1, 3}, {4});
  const auto here = [](const Tensor& tensor, const Variables& in) { return tensor.to(in[0].device()); };
  expect_agrees([&](const Variables& in) { return softmax_cross_entropy(in[0], here(labels, in), 255); },
                {x});
  expect_agrees(
      [&](const Variables& in) {
        return softmax_cross_entropy(in[0], here(labels, in), 255, here(weight, in));
      },
      {x});
  expect_agrees([&](const Variables& in) { return bce_with_logits(in[0], here(t, in)); }, {x});
  expect_agrees([&](const Variables& in) { return bce_with_logits(in[0], here(t, in), weight); }, {x});
  expect_agrees([](const Variables& in) { return smooth_l1(in[0], 0.5); }, {x});
  expect_agrees([](const Variables& in) { return absolute(in[0]); }, {x});
}

// Inside, across every border, tiny, zero-sized, off the map, inverted.
Tensor many_rois() {
  return Tensor::from<float>({0, 3,  4,  21, 17, 1, -9, -7, 12, 10, 0, 20,  15,  60, 50, 1, 8, 8, 8.4f, 8.3f,
                              0, 10, 10, 10, 10, 1, 90, 90, 99, 99, 0, -40, -40, 90, 80, 1, 5, 5, 30,   6},
                             {8, 5});
}

TEST_P(CudaOps, RoIAlign) {
  const Tensor fine = uniform({2, 7, 9, 37}, -1, 1, 1), coarse = uniform({2, 4, 5, 37}, -1, 1, 2);
  const Tensor levels = Tensor::from<int64_t>({0, 1, 0, 0, 1, 0, 1, 0}, {8});
  for (const int64_t ratio : {0, 2}) {
    for (const bool max_pool : {false, true}) {
      const RoIAlignParams params{3, 2, 0.25, ratio, true, max_pool};
      RoIAlignParams half = params;
      half.spatial_scale = 0.125;
      expect_agrees(
          [&](const Variables& in) { return roi_align(in[0], many_rois().to(in[0].device()), params); },
          {fine}, 4);
      expect_agrees(
          [&](const Variables& in) {
            return roi_align_levels(in, many_rois().to(in[0].device()), levels.to(in[0].device()),
                                    {params, half});
          },
          {fine, coarse}, 4);
    }
  }
}

// Where threads add to one place in any order, unless told not to. The order itself is for a GPU to choose,
// or for order_test.cc.
TEST_P(CudaOps, GradientsAreTheSameEveryTimeWhenDeterministic) {
  const Tensor rois = many_rois(), picks = Tensor::from<int64_t>({3, 0, 3, 1, 3, 0}, {6});
  const std::pair<Op, Tensor> ops[] = {
      {[&](const Variables& in) {
         return roi_align(in[0], rois.to(in[0].device()), {7, 7, 0.25, 2, true, false});
       },
       uniform({2, 57, 59, 70}, -1, 1, 1)},
      {[&](const Variables& in) { return gather_rows(in[0], picks.to(in[0].device())); },
       uniform({4, 300}, -1, 1, 2)}};
  dense_math_policy().deterministic = true;
  for (const auto& [op, input] : ops) {
    const Tensor x = input.to(dtype);
    const Tensor grad = uniform(op({x}).shape(), -1, 1, 99).to(dtype);
    const auto gradient = [&, &op = op] { return testing::run_op(op, {x}, grad, kCuda).gradients[0]; };
    const Tensor first = gradient();
    for (int again = 0; again < 3; ++again) EXPECT_TRUE(bitwise_equal(gradient(), first));
  }
  dense_math_policy() = DenseMathPolicy();
}

}  // namespace
}  // namespace osprey
