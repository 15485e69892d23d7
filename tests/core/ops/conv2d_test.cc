#include "core/ops/conv2d.h"

#include <cmath>
#include <limits>
#include <tuple>

#include "core/autograd/gradcheck.h"
#include "core/ops/elementwise.h"
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

Tensor uniform64(Shape shape, uint64_t seed) {
  return uniform(std::move(shape), -1, 1, seed).to(DType::kF64);
}

testing::Op conv(const Conv2dParams& params) {
  return [params](const Variables& in) {
    return conv2d(in[0], in[1], in.size() > 2 ? in[2] : Variable(), params);
  };
}

testing::Op deconv(const Conv2dParams& params) {
  return [params](const Variables& in) {
    return conv_transpose2d(in[0], in[1], in.size() > 2 ? in[2] : Variable(), params);
  };
}

Conv2dParams params_of(const Golden& golden, const std::string& name) {
  Conv2dParams params;
  const auto read = [&](const char* key, int64_t& h, int64_t& w) {
    if (golden.has_param(name, key)) std::tie(h, w) = golden.height_width(name, key);
  };
  read("stride", params.stride_h, params.stride_w);
  read("padding", params.pad_h, params.pad_w);
  read("dilation", params.dilation_h, params.dilation_w);
  read("output_padding", params.output_pad_h, params.output_pad_w);
  if (golden.has_param(name, "groups")) params.groups = golden.integer(name, "groups");
  return params;
}

TEST(Conv2d, AgreesWithTheReference) {
  const Golden golden = Golden::open("ops/layers");
  for (const std::string& name : golden.cases("op", {"conv2d", "conv_transpose2d"})) {
    const std::string op = golden.text(name, "op");
    const bool has_bias = golden.has(name + "/bias");
    Tensors inputs{nchw_to_nhwc(golden.tensor(name + "/input")),
                   nchw_to_nhwc(golden.tensor(name + "/weight"))};
    if (has_bias) inputs.push_back(golden.tensor(name + "/bias"));
    const Conv2dParams params = params_of(golden, name);
    const auto run = run_op(op == "conv2d" ? conv(params) : deconv(params), inputs,
                            nchw_to_nhwc(golden.tensor(name + "/grad_output")));
    expect_golden(nhwc_to_nchw(run.value), golden.tensor(name + "/output"), name);
    expect_golden(nhwc_to_nchw(run.gradients[0]), golden.tensor(name + "/grad_input"), name);
    expect_golden(nhwc_to_nchw(run.gradients[1]), golden.tensor(name + "/grad_weight"), name);
    if (has_bias) expect_golden(run.gradients[2], golden.tensor(name + "/grad_bias"), name);
  }
}

// x, weight, parameters of the shapes that matter: strides, dilation, groups, depthwise, odd sizes, more
// padding than kernel, a row that no window reaches (stride 3), few and many channels.
struct ConvCase {
  const char* name;
  Shape x, weight;
  Conv2dParams params;
};
const ConvCase kSmall[] = {
    {"plain", {2, 5, 4, 3}, {4, 3, 3, 3}, Conv2dParams::square(1, 1)},
    {"unreached", {1, 6, 8, 2}, {3, 2, 2, 2}, Conv2dParams::square(3, 0)},
    {"dilated", {1, 7, 6, 2}, {2, 3, 3, 2}, Conv2dParams::square(2, 2, 2)},
    {"grouped", {1, 4, 5, 4}, {6, 3, 3, 2}, Conv2dParams::square(1, 1, 1, 2)},
    {"depthwise", {2, 4, 3, 3}, {3, 3, 3, 1}, Conv2dParams::square(1, 1, 1, 3)},
    {"oblong", {1, 5, 7, 2}, {2, 1, 3, 2}, {2, 1, 0, 2, 1, 1, 1}},
    {"pointwise", {2, 3, 3, 4}, {5, 1, 1, 4}, Conv2dParams::square(2, 0)},
};
const ConvCase kLarge[] = {
    {"stem", {2, 37, 45, 3}, {64, 7, 7, 3}, Conv2dParams::square(2, 3)},
    {"3x3", {2, 19, 23, 64}, {64, 3, 3, 64}, Conv2dParams::square(1, 1)},
    {"3x3 stride 2", {2, 19, 23, 48}, {80, 3, 3, 48}, Conv2dParams::square(2, 1)},
    {"1x1", {2, 17, 13, 96}, {36, 1, 1, 96}, Conv2dParams::square(1, 0)},
    {"1x1 stride 2", {1, 17, 13, 64}, {128, 1, 1, 64}, Conv2dParams::square(2, 0)},
    {"tiny", {2, 31, 29, 4}, {5, 3, 3, 4}, Conv2dParams::square(1, 1)},
    {"resnext", {1, 14, 15, 128}, {128, 3, 3, 4}, Conv2dParams::square(1, 1, 1, 32)},
    {"dilated", {1, 21, 18, 32}, {32, 3, 3, 32}, Conv2dParams::square(1, 2, 2)},
    {"one pixel", {7, 1, 1, 40}, {24, 1, 1, 40}, Conv2dParams::square(1, 0)},
    {"depthwise", {2, 15, 14, 24}, {24, 3, 3, 1}, Conv2dParams::square(1, 1, 1, 24)},
};

TEST(Conv2d, GradientsMatchFiniteDifferences) {
  for (const ConvCase& c : kSmall) {
    SCOPED_TRACE(c.name);
    const Tensors inputs{uniform64(c.x, 1), uniform64(c.weight, 2), uniform64({c.weight[0]}, 3)};
    EXPECT_GRADCHECK(conv(c.params), inputs);
    EXPECT_GRADCHECK(conv(c.params), {inputs[0], inputs[1]});
  }
}

TEST(ConvTranspose2d, GradientsMatchFiniteDifferences) {
  for (const ConvCase& c : kSmall) {
    SCOPED_TRACE(c.name);
    Shape x{2, 3, 4, c.weight[0]};
    const Tensors inputs{uniform64(x, 1), uniform64(c.weight, 2),
                         uniform64({c.weight[3] * c.params.groups}, 3)};
    EXPECT_GRADCHECK(deconv(c.params), inputs);
  }
}

class Conv2dDTypes : public ::testing::TestWithParam<DType> {};

TEST_P(Conv2dDTypes, AgreesWithF64ToRounding) {
  for (const ConvCase& c : kLarge) {
    SCOPED_TRACE(c.name);
    expect_agrees_with_f64(
        conv(c.params), {uniform64(c.x, 4), uniform64(c.weight, 5), uniform64({c.weight[0]}, 6)}, GetParam());
  }
}

TEST_P(Conv2dDTypes, TransposedAgreesWithF64ToRounding) {
  for (const ConvCase& c : kLarge) {
    SCOPED_TRACE(c.name);
    const Shape x{2, 9, 7, c.weight[0]};
    Conv2dParams params = c.params;
    params.output_pad_h = params.stride_h - 1;
    expect_agrees_with_f64(
        deconv(params),
        {uniform64(x, 4), uniform64(c.weight, 5), uniform64({c.weight[3] * c.params.groups}, 6)}, GetParam());
  }
}

TEST_P(Conv2dDTypes, NoImagesGiveNoResultAndZeroGradients) {
  const DType dtype = GetParam();
  for (const bool transposed : {false, true}) {
    const Tensors inputs{Tensor({0, 5, 5, 4}, dtype), Tensor::full({4, 3, 3, 4}, 1, dtype),
                         Tensor::full({4}, 1, dtype)};
    const Conv2dParams params = Conv2dParams::square(1, 1);
    const auto run = run_op(transposed ? deconv(params) : conv(params), inputs, Tensor({0, 5, 5, 4}, dtype));
    EXPECT_EQ(run.value.shape(), (Shape{0, 5, 5, 4}));
    EXPECT_EQ(run.gradients[0].shape(), (Shape{0, 5, 5, 4}));
    EXPECT_TENSOR_EQ(run.gradients[1], Tensor::zeros({4, 3, 3, 4}, dtype));
    EXPECT_TENSOR_EQ(run.gradients[2], Tensor::zeros({4}, dtype));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Conv2dDTypes, ::testing::Values(DType::kF32, DType::kBF16, DType::kF16),
                         [](const auto& info) { return name_of(info.param); });

TEST(Conv2d, HalfOverflowsToInfinityAsOnTensorCores) {
  // 64 products of 32 x 32 are 65536 > 65504; 63 of them still fit.
  const auto dot = [](int64_t channels) {
    return conv2d(Tensor::full({1, 1, 1, channels}, 32, DType::kF16),
                  Tensor::full({1, 1, 1, channels}, 32, DType::kF16), {}, {})
        .value()
        .item();
  };
  EXPECT_EQ(dot(63), 64512);
  EXPECT_EQ(dot(64), std::numeric_limits<double>::infinity());
}

TEST(Conv2d, SeesAChangedWeight) {
  const Tensor x = uniform({1, 8, 8, 32}, -1, 1, 1);
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    Variable weight(uniform({32, 3, 3, 32}, -1, 1, 2).to(dtype), true);
    const Tensor before = conv2d(x, weight, {}, Conv2dParams::square(1, 1)).value();
    weight.mutable_value().copy_from(uniform({32, 3, 3, 32}, -1, 1, 3).to(dtype));
    const Tensor after = conv2d(x, weight, {}, Conv2dParams::square(1, 1)).value();
    const Tensor fresh = conv2d(x, weight.value().clone(), {}, Conv2dParams::square(1, 1)).value();
    EXPECT_FALSE(bitwise_equal(before, after));
    EXPECT_TRUE(bitwise_equal(after, fresh));
  }
}

// Two weights may be rows of one storage.
TEST(Conv2d, SlicesOfOneStorageAreDifferentWeights) {
  const Tensor x = uniform({1, 8, 8, 16}, -1, 1, 1), both = uniform({32, 3, 3, 16}, -1, 1, 2);
  const Conv2dParams params = Conv2dParams::square(1, 1);
  for (const int64_t begin : {0, 16}) {
    const Tensor part = both.slice(begin, begin + 16);
    EXPECT_TRUE(
        bitwise_equal(conv2d(x, part, {}, params).value(), conv2d(x, part.clone(), {}, params).value()));
  }
}

TEST(Conv2d, ComputesOnlyTheGradientsThatAreNeeded) {
  Variable weight(uniform({4, 3, 3, 4}, -1, 1, 1), true);
  const Variable y = conv2d(uniform({1, 4, 4, 4}, -1, 1, 2), weight, {}, Conv2dParams::square(1, 1));
  int gradients = 0;
  set_op_observer([&](const OpEvent& event) { gradients += event.backward; });
  y.backward(Tensor::full(y.shape(), 1, DType::kF32));
  set_op_observer({});
  EXPECT_EQ(gradients, 1);
}

// In one pass what two ops give, bit for bit: values, gradients and what is not finite.
TEST(Conv2d, AReluInTheSamePassIsThatBehindIt) {
  for (const Device device : testing::devices_in_build()) {
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
      for (const int64_t co : {8, 5}) {
        for (const bool bias : {false, true}) {
          SCOPED_TRACE(::testing::Message() << device << dtype << co << bias);
          Tensor x = uniform({2, 7, 6, 4}, -1, 1, 1);
          x.mutable_data<float>()[5] = std::numeric_limits<float>::quiet_NaN();
          x.mutable_data<float>()[200] = std::numeric_limits<float>::infinity();
          Tensors inputs{x.to(dtype), uniform({co, 3, 3, 4}, -1, 1, 2).to(dtype)};
          if (bias) inputs.push_back(uniform({co}, -1, 1, 3).to(dtype));
          Tensors transposed = inputs;
          transposed[1] = uniform({4, 3, 3, co}, -1, 1, 2).to(dtype);
          const Conv2dParams params = Conv2dParams::square(1, 1);
          const auto expect_same = [&](auto op, const Tensors& of) {
            const testing::Op together = op(params.with_relu());
            const testing::Op apart = [sum = op(params)](const Variables& in) { return relu(sum(in)); };
            const Tensor grad = uniform({2, 7, 6, co}, -1, 1, 4);
            const testing::OpRun a = run_op(together, of, grad, device), b = run_op(apart, of, grad, device);
            EXPECT_TRUE(bitwise_equal(a.value, b.value));
            EXPECT_TRUE(std::isnan(a.value.item_at(0)));
            for (size_t i = 0; i < of.size(); ++i)
              EXPECT_TRUE(bitwise_equal(a.gradients[i], b.gradients[i])) << i;
          };
          expect_same(conv, inputs);
          expect_same(deconv, transposed);
        }
      }
    }
  }
}

TEST(Conv2d, GradientsThroughItsReluMatchFiniteDifferences) {
  const Conv2dParams params = Conv2dParams::square(1, 1).with_relu();
  EXPECT_GRADCHECK(conv(params), {uniform64({1, 4, 3, 2}, 1), uniform64({3, 3, 3, 2}, 2), uniform64({3}, 3)});
  EXPECT_GRADCHECK(deconv(params),
                   {uniform64({1, 4, 3, 2}, 1), uniform64({2, 3, 3, 3}, 2), uniform64({3}, 3)});
  const testing::OpRun empty =
      run_op(conv(params), {Tensor({0, 4, 3, 2}, DType::kF32), uniform({3, 3, 3, 2}, -1, 1, 2)},
             Tensor({0, 4, 3, 3}, DType::kF32));
  EXPECT_TENSOR_EQ(empty.gradients[1], Tensor::zeros({3, 3, 3, 2}, DType::kF32));
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Conv2d, ErrorsNameTheOpAndBothShapes) {
  const Tensor x({1, 4, 4, 3}, DType::kF32), weight({8, 3, 3, 4}, DType::kF32);
  EXPECT_EQ(message_of([&] { conv2d(x, weight, {}, {}); }),
            "conv2d: x (1, 4, 4, 3) does not fit weight (8, 3, 3, 4) with 1 groups");
  EXPECT_EQ(message_of([&] {
              conv2d(Tensor({1, 2, 2, 4}, DType::kF32), weight, {}, {});
            }),
            "conv2d: weight (8, 3, 3, 4) is larger than the padded x (1, 2, 2, 4)");
  EXPECT_EQ(message_of([&] {
              conv_transpose2d(Tensor({1, 4, 4, 8}, DType::kF32), weight, Tensor({8}, DType::kF32), {});
            }),
            "conv_transpose2d: bias must be (4), got (8)");
}

}  // namespace
}  // namespace osprey
