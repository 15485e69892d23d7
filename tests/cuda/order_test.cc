#include <gtest/gtest.h>

#include "core/backend/dense_math.h"
#include "core/ops/broadcast.h"
#include "core/ops/deform_conv2d.h"
#include "core/ops/gradient_harmonizing.h"
#include "core/ops/interpolate.h"
#include "core/ops/reflect_pad.h"
#include "core/ops/roi_align.h"
#include "core/ops/shape_ops.h"
#include "tests/core/ops/op_check.h"
#include "tests/cuda_emulator/emulator.h"

// The threads of a kernel take their turns in any order. What `deterministic` promises must not depend on it.
// Only in the emulated build, which can choose the order.
namespace osprey {
namespace {

using testing::Op;
using testing::OpRun;
using testing::uniform;

constexpr Device kCuda{DeviceType::kCUDA, 0};

struct Case {
  const char* name;
  Op op;
  Tensors inputs;
};

// RoIs that lie upon each other, on two images and two levels, across borders, inverted, far off and absurd.
Tensor crowded_rois() {
  const std::vector<float> some{0, 3,   4,   45, 41, 1, -9, -7, 52,   60,   0, 20, 15,   60, 50,
                                1, 8,   8,   40, 39, 0, 10, 10, 10,   10,   1, 40, 50,   20, 6,
                                0, -40, -40, 90, 80, 1, 5,  5,  8.4f, 8.3f, 0, 0,  -1e9, 64, 1e9};
  std::vector<float> rois;
  for (int copy = 0; copy < 3; ++copy) {
    for (size_t i = 0; i < some.size(); ++i) {
      rois.push_back(some[i] + (i % 5 ? 0.37f * static_cast<float>(copy) : 0));
    }
  }
  return Tensor::from(rois, {static_cast<int64_t>(rois.size()) / 5, 5});
}

Op roi_align_of(int64_t ratio, bool max_pool) {
  return [=](const Variables& in) {
    const Tensor rois = crowded_rois();
    std::vector<int64_t> levels;
    for (int64_t i = 0; i < rois.dim(0); ++i) levels.push_back(i % 3 == 2);
    const RoIAlignParams fine{3, 2, 0.5, ratio, true, max_pool}, coarse{3, 2, 0.25, ratio, true, max_pool};
    return roi_align_levels(in, rois.to(in[0].device()),
                            Tensor::from(levels, {rois.dim(0)}).to(in[0].device()), {fine, coarse});
  };
}

std::vector<Case> scatter_cases() {
  const Tensors maps{uniform({2, 29, 33, 37}, -1, 1, 1), uniform({2, 13, 17, 37}, -1, 1, 2)};
  const Op gather = [](const Variables& in) {
    const Tensor rows = Tensor::from<int64_t>({3, 0, 3, 1, 3, 0, 0, 3, 2, 3}, {10});
    return gather_rows(in[0], rows.to(in[0].device()));
  };
  const DeformConv2dParams twice{Conv2dParams::square(2, 1), 2};
  const Op deform = [=](const Variables& in) { return deform_conv2d(in[0], in[1], in[2], twice); };
  const Op modulated = [=](const Variables& in) {
    return modulated_deform_conv2d(in[0], in[1], in[2], in[3], in[4], twice);
  };
  const Tensor x = uniform({2, 19, 14, 12}, -1, 1, 1), offset = uniform({2, 10, 7, 36}, -4, 4, 2);
  const Tensor mask = uniform({2, 10, 7, 18}, 0, 1, 3), weight = uniform({8, 3, 3, 12}, -1, 1, 4);
  return {
      {"roi_align average", roi_align_of(2, false), maps},
      {"roi_align average, adaptive", roi_align_of(0, false), maps},
      {"roi_align max", roi_align_of(2, true), maps},
      {"gather_rows", gather, {uniform({4, 70}, -1, 1, 1)}},
      {"gather_rows of scalars", gather, {uniform({4}, -1, 1, 1)}},
      {"deform_conv2d", deform, {x, offset, weight}},
      {"modulated_deform_conv2d", modulated, {x, offset, mask, weight, uniform({8}, -1, 1, 5)}},
      {"blend",
       [](const Variables& in) { return blend(in[0], in[1], in[2]); },
       {x, uniform(x.shape(), -1, 1, 6), uniform({2, 19, 14, 1}, 0, 1, 7)}},
      {"reflect_pad2d", [](const Variables& in) { return reflect_pad2d(in[0], 3); }, {x}},
      {"upsample_bilinear", [](const Variables& in) { return upsample_bilinear(in[0], 31, 9, false); }, {x}},
  };
}

class ThreadOrder : public ::testing::TestWithParam<DType> {
 protected:
  ~ThreadOrder() override {
    dense_math_policy() = DenseMathPolicy();
    emulator::machine().thread_order = 0;
  }

  static OpRun run(const Case& c, DType dtype, uint64_t order) {
    emulator::machine().thread_order = order;
    Tensors inputs;
    for (const Tensor& input : c.inputs) inputs.push_back(input.to(dtype));
    Shape shape;
    {
      const NoGradGuard no_grad;
      shape = c.op(Variables(inputs.begin(), inputs.end())).shape();
    }
    return testing::run_op(c.op, inputs, uniform(shape, -1, 1, 99), kCuda);
  }
  static bool same(const OpRun& a, const OpRun& b) {
    bool equal = bitwise_equal(a.value, b.value);
    for (size_t i = 0; i < a.gradients.size(); ++i) {
      equal = equal && bitwise_equal(a.gradients[i], b.gradients[i]);
    }
    return equal;
  }
};

INSTANTIATE_TEST_SUITE_P(All, ThreadOrder, ::testing::Values(DType::kF32, DType::kBF16, DType::kF16),
                         [](const auto& info) { return name_of(info.param); });

TEST_P(ThreadOrder, DoesNotMatterWhenDeterministic) {
  dense_math_policy().deterministic = true;
  for (const Case& c : scatter_cases()) {
    SCOPED_TRACE(c.name);
    const OpRun ascending = run(c, GetParam(), 0);
    for (const uint64_t order : {1, 2, 3}) EXPECT_TRUE(same(run(c, GetParam(), order), ascending)) << order;
  }
}

// A deterministic sum is still the sum.
TEST_P(ThreadOrder, DeterministicSumsAreTheOthersToRounding) {
  for (const Case& c : scatter_cases()) {
    SCOPED_TRACE(c.name);
    dense_math_policy().deterministic = false;
    const OpRun free = run(c, GetParam(), 0);
    dense_math_policy().deterministic = true;
    const OpRun ordered = run(c, GetParam(), 0);
    for (size_t i = 0; i < free.gradients.size(); ++i) {
      EXPECT_LE(testing::relative_l2(ordered.gradients[i], free.gradients[i]),
                testing::rounding_tolerance(GetParam()))
          << i;
    }
  }
}

// The test above can fail.
TEST_F(ThreadOrder, MattersWithoutIt) {
  const Case roi_align = scatter_cases()[0];
  EXPECT_FALSE(same(run(roi_align, DType::kF32, 1), run(roi_align, DType::kF32, 2)));
}

TEST_F(ThreadOrder, DoesNotMatterToCounts) {
  const Tensor lengths = uniform({5000}, 0, 1, 1).to(kCuda),
               ones = Tensor::full({5000}, 1, DType::kF32, kCuda);
  const Tensor edges = Tensor::from<float>({0, 0.25f, 0.5f, 0.75f, 1.000001f}, {5}).to(kCuda);
  const auto weights = [&](uint64_t order) {
    emulator::machine().thread_order = order;
    return harmonizing_weights(lengths, ones, edges, 0, nullptr).to(kCPU);
  };
  EXPECT_TRUE(bitwise_equal(weights(1), weights(2)));
}

// What is not finite stays where it belongs, in any order.
TEST_F(ThreadOrder, InfinitiesAndNaNsReachWhatTheyTouch) {
  dense_math_policy().deterministic = true;
  const Tensor rows = Tensor::from<int64_t>({1, 0, 1, 2, 2}, {5}).to(kCuda);
  const float inf = std::numeric_limits<float>::infinity();
  for (const uint64_t order : {0, 1, 2}) {
    emulator::machine().thread_order = order;
    const Variable x(Tensor::zeros({4, 1}, DType::kF32, kCuda), true);
    gather_rows(x, rows).backward(Tensor::from<float>({1, inf, 2, inf, -inf}, {5, 1}).to(kCuda));
    const Tensor grad = x.grad().to(kCPU);
    EXPECT_EQ(grad.item_at(0), inf);
    EXPECT_EQ(grad.item_at(1), 3);
    EXPECT_TRUE(std::isnan(grad.item_at(2)));
    EXPECT_EQ(grad.item_at(3), 0);
  }
}

}  // namespace
}  // namespace osprey
