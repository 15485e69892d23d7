#include "core/ops/deform_conv2d.h"

#include <omp.h>

#include <cmath>
#include <limits>

#include "core/autograd/gradcheck.h"
#include "core/ops/flop_counter.h"
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

Tensor uniform64(Shape shape, double bound, uint64_t seed) {
  return uniform(std::move(shape), -bound, bound, seed).to(DType::kF64);
}

// Inputs x, offset, weight: v1; x, offset, mask, weight, bias: v2.
testing::Op deform(const DeformConv2dParams& params) {
  return [params](const Variables& in) {
    return in.size() == 3 ? deform_conv2d(in[0], in[1], in[2], params)
                          : modulated_deform_conv2d(in[0], in[1], in[2], in[3], in[4], params);
  };
}

DeformConv2dParams params_of(const Golden& golden, const std::string& name) {
  return {Conv2dParams::square(golden.integer(name, "stride"), golden.integer(name, "padding"),
                               golden.integer(name, "dilation"), golden.integer(name, "groups")),
          golden.integer(name, "deform_groups")};
}

class DeformConv2dDevices : public ::testing::TestWithParam<Device> {};

// The cases with an offset of their own; those of the layers (pack_*) are in tests/core/nn.
TEST_P(DeformConv2dDevices, AgreesWithTheReference) {
  const Golden golden = Golden::open("ops/deform_conv");
  int cases = 0;
  for (const std::string& name : golden.cases()) {
    if (!golden.has(name + "/offset")) continue;
    const auto map = [&](const std::string& tensor) {
      return nchw_to_nhwc(golden.tensor(name + "/" + tensor));
    };
    const bool modulated = golden.has(name + "/mask");
    Tensors inputs{map("input"), map("offset")};
    std::vector<std::string> names{"input", "offset"};
    if (modulated) {
      inputs.push_back(map("mask"));
      names.push_back("mask");
    }
    inputs.push_back(map("weight"));
    names.push_back("weight");
    if (modulated) inputs.push_back(golden.tensor(name + "/bias"));
    const auto run = run_op(deform(params_of(golden, name)), inputs, map("grad_output"), GetParam());
    expect_golden(nhwc_to_nchw(run.value), golden.tensor(name + "/output"), name);
    for (size_t i = 0; i < names.size(); ++i) {
      expect_golden(nhwc_to_nchw(run.gradients[i]), golden.tensor(name + "/grad_" + names[i]),
                    name + "/grad_" + names[i]);
    }
    if (modulated) expect_golden(run.gradients.back(), golden.tensor(name + "/grad_bias"), name);
    ++cases;
  }
  EXPECT_GT(cases, 0);
}

INSTANTIATE_TEST_SUITE_P(All, DeformConv2dDevices, ::testing::ValuesIn(testing::devices_in_build()),
                         [](const auto& info) { return testing::device_name(info.param); });

struct DeformCase {
  const char* name;
  Shape x, weight;
  DeformConv2dParams params;

  Tensors inputs(bool modulated) const {
    const Conv2dParams& p = params.conv;
    const int64_t oh = conv_out_extent(x[1], weight[1], p.stride_h, p.pad_h, p.dilation_h);
    const int64_t ow = conv_out_extent(x[2], weight[2], p.stride_w, p.pad_w, p.dilation_w);
    const int64_t samples = params.deform_groups * weight[1] * weight[2];
    Tensors all{uniform64(x, 1, 1), uniform64({x[0], oh, ow, 2 * samples}, 2.5, 2)};
    if (modulated) all.push_back(uniform64({x[0], oh, ow, samples}, 1, 3));
    all.push_back(uniform64(weight, 1, 4));
    if (modulated) all.push_back(uniform64({weight[0]}, 1, 5));
    return all;
  }
};

const DeformCase kSmall[] = {
    {"plain", {2, 5, 4, 3}, {4, 3, 3, 3}, {Conv2dParams::square(1, 1), 1}},
    {"strided", {1, 6, 5, 2}, {3, 3, 3, 2}, {Conv2dParams::square(2, 1), 2}},
    {"dilated", {1, 7, 6, 2}, {2, 3, 3, 2}, {Conv2dParams::square(1, 2, 2), 1}},
    {"grouped", {1, 4, 5, 4}, {6, 3, 3, 2}, {Conv2dParams::square(1, 1, 1, 2), 1}},
    {"more parts than groups", {1, 3, 4, 8}, {4, 3, 3, 4}, {Conv2dParams::square(1, 1, 1, 2), 4}},
    {"more groups than parts", {1, 3, 4, 8}, {4, 3, 3, 2}, {Conv2dParams::square(1, 1, 1, 4), 2}},
    {"oblong", {1, 5, 7, 2}, {2, 1, 3, 2}, {{2, 1, 0, 2, 1, 1, 1}, 1}},
    {"smaller than its kernel", {1, 2, 1, 2}, {2, 3, 3, 2}, {Conv2dParams::square(1, 1), 1}},
};

TEST(DeformConv2d, GradientsMatchFiniteDifferences) {
  for (const DeformCase& c : kSmall) {
    SCOPED_TRACE(c.name);
    EXPECT_GRADCHECK(deform(c.params), c.inputs(false));
    EXPECT_GRADCHECK(deform(c.params), c.inputs(true));
  }
}

// A sample at an integer position is a plain convolution's.
TEST(DeformConv2d, WithoutOffsetsIsAConvolution) {
  const Tensor x = uniform({2, 9, 8, 6}, -1, 1, 1), weight = uniform({4, 3, 3, 3}, -1, 1, 2);
  const Conv2dParams conv = Conv2dParams::square(2, 1, 1, 2);
  const Tensor y = deform_conv2d(x, Tensor::zeros({2, 5, 4, 18}, DType::kF32), weight, {conv, 1}).value();
  EXPECT_TENSOR_NEAR(y, conv2d(x, weight, {}, conv).value(), 1e-5, 1e-5);
}

TEST(DeformConv2d, ASampleExactlyOneOffTheMapHasNoOffsetGradient) {
  const Tensors inputs{Tensor::full({1, 3, 3, 1}, 2, DType::kF32), Tensor::zeros({1, 3, 3, 18}, DType::kF32),
                       Tensor::full({1, 3, 3, 1}, 1, DType::kF32)};
  const auto run =
      run_op(deform({Conv2dParams::square(1, 1), 1}), inputs, Tensor::full({1, 3, 3, 1}, 1, DType::kF32));
  // Tap 0 of output (0, 0) looks at (-1, -1), the last tap of output (2, 2) at (3, 3).
  const std::vector<double> grad = run.gradients[1].to_doubles();
  for (const size_t i : {0, 1, 8 * 18 + 16, 8 * 18 + 17}) EXPECT_EQ(grad[i], 0) << i;
  // Tap 1 of output (1, 1) looks at (0, 1) on constant ground: the one-sided slope to row 1 is 0 as well;
  // tap 7 looks at (2, 1), below which the map ends.
  EXPECT_EQ(grad[4 * 18 + 2], 0);
  EXPECT_EQ(grad[4 * 18 + 14], -2);
}

class DeformConv2dDTypes : public ::testing::TestWithParam<DType> {};

const DeformCase kLarge[] = {
    {"3x3", {2, 19, 23, 64}, {64, 3, 3, 64}, {Conv2dParams::square(1, 1), 1}},
    {"several chunks", {2, 37, 31, 16}, {24, 3, 3, 16}, {Conv2dParams::square(1, 1), 1}},
    {"resnext", {1, 14, 15, 128}, {128, 3, 3, 4}, {Conv2dParams::square(2, 1, 1, 32), 1}},
    {"parts", {1, 11, 9, 40}, {16, 3, 3, 40}, {Conv2dParams::square(1, 3, 3), 4}},
};

TEST_P(DeformConv2dDTypes, AgreesWithF64ToRounding) {
  for (const DeformCase& c : kLarge) {
    SCOPED_TRACE(c.name);
    expect_agrees_with_f64(deform(c.params), c.inputs(false), GetParam());
    expect_agrees_with_f64(deform(c.params), c.inputs(true), GetParam());
  }
}

TEST_P(DeformConv2dDTypes, NoImagesGiveNoResultAndZeroGradients) {
  const DType dtype = GetParam();
  for (const Device device : testing::devices_in_build()) {
    const Tensors inputs{Tensor({0, 5, 5, 4}, dtype), Tensor({0, 5, 5, 18}, dtype),
                         Tensor({0, 5, 5, 9}, dtype), Tensor::full({4, 3, 3, 4}, 1, dtype),
                         Tensor::full({4}, 1, dtype)};
    const auto run =
        run_op(deform({Conv2dParams::square(1, 1), 1}), inputs, Tensor({0, 5, 5, 4}, dtype), device);
    EXPECT_EQ(run.value.shape(), (Shape{0, 5, 5, 4}));
    EXPECT_EQ(run.gradients[0].shape(), (Shape{0, 5, 5, 4}));
    EXPECT_EQ(run.gradients[1].shape(), (Shape{0, 5, 5, 18}));
    EXPECT_TENSOR_EQ(run.gradients[3], Tensor::zeros({4, 3, 3, 4}, dtype));
    EXPECT_TENSOR_EQ(run.gradients[4], Tensor::zeros({4}, dtype));
  }
}

INSTANTIATE_TEST_SUITE_P(All, DeformConv2dDTypes, ::testing::Values(DType::kF32, DType::kBF16, DType::kF16),
                         [](const auto& info) { return name_of(info.param); });

TEST(DeformConv2d, GivesOnlyTheGradientsThatAreAsked) {
  const Tensors in = kSmall[0].inputs(true);
  for (size_t asked = 0; asked < in.size(); ++asked) {
    Variables leaves;
    for (size_t i = 0; i < in.size(); ++i) leaves.emplace_back(in[i], i == asked);
    const Variable y = deform(kSmall[0].params)(leaves);
    const Tensor g = uniform64(y.shape(), 1, 9);
    y.backward(g);
    const auto all = run_op(deform(kSmall[0].params), in, g);
    for (size_t i = 0; i < in.size(); ++i) {
      EXPECT_EQ(leaves[i].grad().defined(), i == asked);
    }
    EXPECT_TENSOR_NEAR(leaves[asked].grad(), all.gradients[asked], 1e-12, 1e-12);
  }
}

TEST(DeformConv2d, IsBitwiseTheSameForAnyNumberOfThreads) {
  Tensors in;
  for (const Tensor& tensor : kLarge[3].inputs(true)) in.push_back(tensor.to(DType::kF32));
  const auto gradients = [&](int threads) {
    omp_set_num_threads(threads);
    return run_op(deform(kLarge[3].params), in, uniform({1, 11, 9, 16}, -1, 1, 7)).gradients;
  };
  const int before = omp_get_max_threads();
  const Tensors one = gradients(1), three = gradients(3);
  omp_set_num_threads(before);
  for (const size_t i : {1, 2}) EXPECT_TRUE(bitwise_equal(one[i], three[i])) << i;
  EXPECT_LE(testing::relative_l2(one[0], three[0]), 1e-6);  // through oneDNN's product
}

TEST(DeformConv2d, NonFiniteOffsetsGiveNaNAndFarOnesZero) {
  for (const Device device : testing::devices_in_build()) {
    Tensor offset = Tensor::zeros({1, 1, 3, 2}, DType::kF32);
    offset.mutable_data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
    offset.mutable_data<float>()[3] = std::numeric_limits<float>::infinity();
    offset.mutable_data<float>()[4] = 1e30f;
    const Tensor one = Tensor::full({1, 1, 1, 1}, 1, DType::kF32).to(device);
    const Tensor x = Tensor::full({1, 1, 3, 1}, 1, DType::kF32).to(device);
    const std::vector<double> y = deform_conv2d(x, offset.to(device), one, {}).value().to_doubles();
    EXPECT_TRUE(std::isnan(y[0]));
    EXPECT_TRUE(std::isnan(y[1]));
    EXPECT_EQ(y[2], 0);
  }
}

TEST(DeformConv2d, CountsTheFlopsOfItsProducts) {
  const Tensors in = kSmall[0].inputs(false);
  const Variables leaves{{in[0], true}, {in[1], true}, {in[2], true}};
  const int64_t before = dense_flops();
  const Variable y = deform(kSmall[0].params)(leaves);
  const int64_t product = 2 * y.numel() * 27;
  EXPECT_EQ(dense_flops() - before, product);
  y.backward(Tensor::full(y.shape(), 1, DType::kF64));
  EXPECT_EQ(dense_flops() - before, 3 * product);
}

TEST(DeformConv2d, RefusesWhatDoesNotFit) {
  const Tensor x = Tensor::zeros({1, 5, 5, 4}, DType::kF32),
               weight = Tensor::zeros({2, 3, 3, 4}, DType::kF32);
  const auto message = [&](const Tensor& offset, const DeformConv2dParams& params) -> std::string {
    try {
      deform_conv2d(x, offset, weight, params);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message(Tensor::zeros({1, 5, 5, 17}, DType::kF32), {Conv2dParams::square(1, 1), 1}),
            "deform_conv2d: offset must be (1, 5, 5, 18), got f32 (1, 5, 5, 17) cpu");
  EXPECT_EQ(message(Tensor::zeros({1, 5, 5, 54}, DType::kF32), {Conv2dParams::square(1, 1), 3}),
            "deform_conv2d: x (1, 5, 5, 4) does not fit weight (2, 3, 3, 4) with 1 groups and 3 "
            "deform_groups");
}

}  // namespace
}  // namespace osprey
