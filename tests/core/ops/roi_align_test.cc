#include "core/ops/roi_align.h"

#include <gtest/gtest.h>

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/autograd/gradcheck.h"
#include "core/tensor/half.h"
#include "tests/golden.h"

namespace osprey {
namespace {

using testing::Golden;
using testing::nchw_to_nhwc;
using testing::uniform;

RoIAlignParams params_of(const Golden& golden, const std::string& name) {
  RoIAlignParams params;
  const std::vector<int64_t> size = golden.integers(name, "output_size");
  params.out_h = size[0];
  params.out_w = size[1];
  params.sampling_ratio = golden.integer(name, "sampling_ratio");
  params.aligned = golden.flag(name, "aligned");
  if (golden.has_param(name, "spatial_scale")) params.spatial_scale = golden.number(name, "spatial_scale");
  return params;
}

TEST(RoIAlign, AgreesWithReference) {
  const Golden golden = Golden::open("ops/roi_align");
  for (const std::string& name : golden.cases()) {
    SCOPED_TRACE(name);
    const Variable input(nchw_to_nhwc(golden.tensor(name + "/input")), /*requires_grad=*/true);
    const Variable output = roi_align(input, golden.tensor(name + "/rois"), params_of(golden, name));
    EXPECT_TENSOR_NEAR(output.value(), nchw_to_nhwc(golden.tensor(name + "/output")), 1e-6, 1e-5);
    if (!golden.has(name + "/grad_output")) continue;
    output.backward(nchw_to_nhwc(golden.tensor(name + "/grad_output")));
    EXPECT_TENSOR_NEAR(input.grad(), nchw_to_nhwc(golden.tensor(name + "/grad_input")), 1e-5, 1e-4);
  }
}

TEST(RoIAlign, LevelsAgreeWithTheReferenceExtractor) {
  const Golden golden = Golden::open("ops/roi_extractor");
  for (const std::string& name : golden.cases()) {
    SCOPED_TRACE(name);
    const std::vector<double> strides = golden.numbers(name, "featmap_strides");
    Variables feats;
    std::vector<RoIAlignParams> params;
    for (size_t l = 0; l < strides.size(); ++l) {
      feats.emplace_back(nchw_to_nhwc(golden.tensor(name + "/feat" + std::to_string(l))), true);
      params.push_back(params_of(golden, name));
      params.back().spatial_scale = 1 / strides[l];
    }
    const Variable output =
        roi_align_levels(feats, golden.tensor(name + "/rois"), golden.tensor(name + "/target_lvls"), params);
    EXPECT_TENSOR_NEAR(output.value(), nchw_to_nhwc(golden.tensor(name + "/output")), 1e-6, 1e-5);
    output.backward(nchw_to_nhwc(golden.tensor(name + "/grad_output")));
    for (size_t l = 0; l < strides.size(); ++l) {
      const Tensor& expected = golden.tensor(name + "/grad_feat" + std::to_string(l));
      EXPECT_TENSOR_NEAR(feats[l].grad(), nchw_to_nhwc(expected), 1e-5, 1e-4);
    }
  }
}

// Inside, across every border, tiny, zero-sized, off the map, inverted.
Tensor many_rois() {
  return Tensor::from<float>({0, 3,  4,  21, 17, 1, -9, -7, 12, 10, 0, 20,  15,  60, 50, 1, 8, 8, 8.4f, 8.3f,
                              0, 10, 10, 10, 10, 1, 90, 90, 99, 99, 0, -40, -40, 90, 80, 1, 5, 5, 30,   6},
                             {8, 5});
}

TEST(RoIAlign, GradientsMatchFiniteDifferences) {
  const Tensor map = uniform({2, 7, 9, 3}, -1, 1, 1).to(DType::kF64);
  for (const int64_t ratio : {0, 1, 2}) {
    for (const bool aligned : {false, true}) {
      for (const bool max_pool : {false, true}) {
        const RoIAlignParams params{3, 2, 0.25, ratio, aligned, max_pool};
        EXPECT_GRADCHECK([&](const Variables& in) { return roi_align(in[0], many_rois(), params); }, {map});
      }
    }
  }
}

TEST(RoIAlign, MaxTakesTheLargestSample) {
  const Tensor map = uniform({1, 6, 6, 5}, -2, -1, 2);  // negative: nothing but real samples may win
  const Tensor roi = Tensor::from<float>({0, 0, 0, 4, 4}, {1, 5});
  const Tensor pooled = roi_align(map, roi, {1, 1, 1.0, 2, true, true}).value();
  // Samples at 0.5 and 2.5 in both axes: single samples of four 1x1 RoIs around them.
  const Tensor around = Tensor::from<float>({0, 0.5f, 0.5f, 1.5f, 1.5f, 0, 2.5f, 0.5f, 3.5f, 1.5f,
                                             0, 0.5f, 2.5f, 1.5f, 3.5f, 0, 2.5f, 2.5f, 3.5f, 3.5f},
                                            {4, 5});
  const std::vector<double> samples =
      roi_align(map, around, {1, 1, 1.0, 1, true, false}).value().to_doubles();
  for (int c = 0; c < 5; ++c) {
    const double best = std::max({samples[c], samples[5 + c], samples[10 + c], samples[15 + c]});
    EXPECT_NEAR(pooled.to_doubles()[c], best, 1e-6);
  }
}

TEST(RoIAlign, HalfRoundsOnceAndAgreesWithF32) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const double epsilon = dtype == DType::kF16 ? 1e-3 : 8e-3;
    const Tensor map = uniform({2, 7, 9, 300}, -1, 1, 3).to(dtype);  // more channels than one block
    const Variable half(map, true), full(map.to(DType::kF32), true);
    const RoIAlignParams params{3, 2, 0.25, 2, true, false};
    const Variable pooled = roi_align(half, many_rois(), params),
                   exact = roi_align(full, many_rois(), params);
    EXPECT_EQ(pooled.dtype(), dtype);
    EXPECT_TRUE(bitwise_equal(pooled.value(), exact.value().to(dtype)));
    const Tensor g = uniform(pooled.shape(), -1, 1, 4).to(dtype);
    pooled.backward(g);
    exact.backward(g.to(DType::kF32));
    EXPECT_EQ(half.grad().dtype(), dtype);
    EXPECT_TRUE(bitwise_equal(half.grad(), full.grad().to(dtype)));
    EXPECT_TENSOR_NEAR(half.grad(), full.grad(), 1e-6, epsilon);
  }
}

TEST(RoIAlign, GradientIsBitwiseTheSameForAnyNumberOfThreads) {
  const Tensor map = uniform({1, 16, 16, 64}, -1, 1, 5);
  Tensor rois = uniform({200, 5}, 0, 60, 6);
  for (int64_t i = 0; i < 200; ++i) rois.mutable_data<float>()[5 * i] = 0;
  const auto gradient = [&](int threads) {
    omp_set_num_threads(threads);
    const Variable leaf(map, true);
    const Variable pooled = roi_align(leaf, rois, {7, 7, 0.25, 2, true, false});
    pooled.backward(uniform(pooled.shape(), -1, 1, 7));
    return leaf.grad();
  };
  const int before = omp_get_max_threads();
  const Tensor one = gradient(1), three = gradient(3);
  omp_set_num_threads(before);
  EXPECT_TRUE(bitwise_equal(one, three));
}

TEST(RoIAlign, BadRoIsGiveZerosAndNoGradient) {
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  const Variable map(Tensor::full({1, 5, 5, 4}, 3, DType::kF32), true);
  const Tensor rois = Tensor::from<float>(
      {0, nan, 0, 4, 4, 0, 0, 0, inf, 4, nan, 0, 0, 4, 4, 0, 2, 2, 2, 2, 0, -1e30f, -1e30f, 1e30f, 1e30f},
      {5, 5});
  for (const bool max_pool : {false, true}) {
    const Variable pooled = roi_align(map, rois, {2, 2, 1.0, 0, true, max_pool});
    EXPECT_EQ(pooled.value().to_doubles(), std::vector<double>(5 * 2 * 2 * 4, 0.0));
    pooled.backward(Tensor::full(pooled.shape(), 1, DType::kF32));
    EXPECT_EQ(map.grad().to_doubles(), std::vector<double>(5 * 5 * 4, 0.0));
  }
}

TEST(RoIAlign, ARoIFarLargerThanTheMapCostsNoMoreThanTheMap) {
  const Tensor map = Tensor::full({1, 5, 5, 4}, 3, DType::kF32);
  const Tensor roi = Tensor::from<float>({0, -5e6f, -5e6f, 5e6f, 5e6f}, {1, 5});
  const Tensor pooled = roi_align(map, roi, {1, 1, 1.0, 0, true, false}).value();  // 10^14 samples in all
  EXPECT_GT(pooled.to_doubles()[0], 0);
  EXPECT_LT(pooled.to_doubles()[0], 1e-9);
}

TEST(RoIAlign, NaNFeaturesReachTheBinsThatSampleThem) {
  Tensor map = Tensor::full({1, 8, 8, 2}, 1, DType::kF32);
  map.mutable_data<float>()[(1 * 8 + 1) * 2] = std::nanf("");  // pixel (1, 1), channel 0
  const Tensor roi = Tensor::from<float>({0, 0, 0, 8, 8}, {1, 5});
  for (const bool max_pool : {false, true}) {
    const std::vector<double> pooled =
        roi_align(map, roi, {2, 2, 1.0, 0, true, max_pool}).value().to_doubles();
    EXPECT_TRUE(std::isnan(pooled[0]));
    EXPECT_EQ(pooled[1], 1);
    EXPECT_EQ(pooled[6], 1);
  }
}

TEST(RoIAlign, NoRoIsGiveAnEmptyResultAndZeroGradient) {
  const Variable map(uniform({1, 5, 5, 4}, 0, 1, 8), true);
  const Variable pooled = roi_align(map, Tensor({0, 5}, DType::kF32), {7, 7});
  EXPECT_EQ(pooled.shape(), (Shape{0, 7, 7, 4}));
  pooled.backward(Tensor(pooled.shape(), DType::kF32));
  EXPECT_EQ(map.grad().to_doubles(), std::vector<double>(100, 0.0));
}

TEST(RoIAlign, RefusesWhatItCannotServe) {
  const Variable map(uniform({1, 5, 5, 4}, 0, 1, 9));
  try {
    roi_align(map, Tensor({12, 4}, DType::kF32), {});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "roi_align: rois must be (k, 5), got (12, 4)");
  }
  EXPECT_THROW(roi_align(map, Tensor::from<float>({1, 0, 0, 4, 4}, {1, 5}), {}), Error);
  const Tensor roi = Tensor::from<float>({0, 0, 0, 4, 4}, {1, 5});
  EXPECT_THROW(roi_align_levels({map}, roi, Tensor::from<int64_t>({1}, {1}), {{}}), Error);
  EXPECT_THROW(roi_align_levels({map, map}, roi, {}, {{}}), Error);
}

}  // namespace
}  // namespace osprey
