#include "core/ops/broadcast.h"

#include "core/autograd/gradcheck.h"
#include "core/ops/channel_ops.h"
#include "core/ops/pool2d.h"
#include "core/ops/reflect_pad.h"
#include "tests/core/ops/op_check.h"

namespace osprey {
namespace {

using testing::expect_agrees_with_f64;
using testing::run_op;
using testing::uniform;

Tensor uniform64(Shape shape, uint64_t seed) {
  return uniform(std::move(shape), -1, 1, seed).to(DType::kF64);
}

const testing::Op kMean = [](const Variables& in) { return image_mean(in[0]); };
const testing::Op kAdd = [](const Variables& in) { return add_per_image(in[0], in[1]); };
const testing::Op kBlend = [](const Variables& in) { return blend(in[0], in[1], in[2]); };
const testing::Op kConcat = [](const Variables& in) { return concat_channels(in); };
const testing::Op kSlice = [](const Variables& in) { return slice_channels(in[0], 1, 3); };
testing::Op reflect(int64_t padding) {
  return [padding](const Variables& in) { return reflect_pad2d(in[0], padding); };
}

TEST(Broadcast, GradientsMatchFiniteDifferences) {
  EXPECT_GRADCHECK(kMean, {uniform64({2, 3, 4, 5}, 1)});
  EXPECT_GRADCHECK(kAdd, {uniform64({2, 3, 4, 5}, 1), uniform64({2, 1, 1, 5}, 2)});
  EXPECT_GRADCHECK(kBlend,
                   {uniform64({2, 3, 2, 5}, 1), uniform64({2, 3, 2, 5}, 2), uniform64({2, 3, 2, 1}, 3)});
}

TEST(ChannelOps, GradientsMatchFiniteDifferences) {
  EXPECT_GRADCHECK(kConcat,
                   {uniform64({2, 3, 2, 1}, 1), uniform64({2, 3, 2, 4}, 2), uniform64({2, 3, 2, 2}, 3)});
  EXPECT_GRADCHECK(kSlice, {uniform64({2, 3, 2, 4}, 1)});
}

TEST(ReflectPad, GradientsMatchFiniteDifferences) {
  for (const Shape& shape : {Shape{2, 3, 5, 2}, Shape{1, 1, 2, 3}, Shape{1, 2, 1, 1}}) {
    EXPECT_GRADCHECK(reflect(2), {uniform64(shape, 1)});
  }
}

TEST(ReflectPad, MirrorsAtPixelCentres) {
  const Tensor x = Tensor::from<float>({0, 1, 2, 3}, {1, 1, 4, 1});
  EXPECT_EQ(reflect_pad2d(x, 2).value().slice(0, 1).to_doubles(),
            (std::vector<double>{2, 1, 0, 1, 2, 3, 2, 1, 2, 1, 0, 1, 2, 3, 2, 1, 2, 1, 0, 1,
                                 2, 3, 2, 1, 2, 1, 0, 1, 2, 3, 2, 1, 2, 1, 0, 1, 2, 3, 2, 1}));
  // Smaller than the padding: 1 0 1 0 1 0.
  const Tensor pair = Tensor::from<float>({0, 1}, {1, 1, 2, 1});
  EXPECT_EQ(reflect_pad2d(pair, 2).value().reshape({5, 6})[0].to_doubles(),
            (std::vector<double>{0, 1, 0, 1, 0, 1}));
}

TEST(Broadcast, AMeanIsAPoolingToOnePixel) {
  const Tensor x = uniform({2, 7, 5, 6}, -1, 1, 1);
  EXPECT_TENSOR_NEAR(image_mean(x).value(), adaptive_avg_pool2d(x, 1, 1).value(), 1e-6, 1e-6);
}

TEST(ChannelOps, SlicesOfAConcatenationAreItsParts) {
  for (const Device device : testing::devices_in_build()) {
    const Tensor a = uniform({2, 3, 4, 5}, -1, 1, 1), b = uniform({2, 3, 4, 2}, -1, 1, 2);
    const Variable joined = concat_channels({a.to(device), b.to(device)});
    EXPECT_TENSOR_EQ(slice_channels(joined, 0, 5).value(), a);
    EXPECT_TENSOR_EQ(slice_channels(joined, 5, 7).value(), b);
  }
}

class ContextDTypes : public ::testing::TestWithParam<DType> {};

TEST_P(ContextDTypes, AgreesWithF64ToRounding) {
  const DType dtype = GetParam();
  const Tensor a = uniform64({2, 13, 9, 37}, 1), b = uniform64({2, 13, 9, 37}, 2);
  // Means of numbers of one sign: their relative error is that of one rounding.
  expect_agrees_with_f64(kMean, {uniform({2, 13, 9, 37}, 0.5, 1, 3).to(DType::kF64)}, dtype);
  expect_agrees_with_f64(kAdd, {a, uniform64({2, 1, 1, 37}, 4)}, dtype);
  expect_agrees_with_f64(kBlend, {a, b, uniform64({2, 13, 9, 1}, 5)}, dtype);
  expect_agrees_with_f64(kConcat, {a, b}, dtype);
  expect_agrees_with_f64(kSlice, {a}, dtype);
  expect_agrees_with_f64(reflect(2), {a}, dtype);
}

TEST_P(ContextDTypes, NoImagesGiveNoResultAndZeroGradients) {
  const Tensor none({0, 3, 4, 5}, GetParam());
  const Tensor v({0, 1, 1, 5}, GetParam()), gate({0, 3, 4, 1}, GetParam());
  for (const Device device : testing::devices_in_build()) {
    for (const auto& [op, inputs] : std::vector<std::pair<testing::Op, Tensors>>{{kMean, {none}},
                                                                                 {kAdd, {none, v}},
                                                                                 {kBlend, {none, none, gate}},
                                                                                 {kConcat, {none, none}},
                                                                                 {kSlice, {none}},
                                                                                 {reflect(2), {none}}}) {
      const Shape shape = op(Variables(inputs.begin(), inputs.end())).shape();
      const auto run = run_op(op, inputs, Tensor(shape, GetParam()), device);
      EXPECT_EQ(run.value.shape(), shape);
      for (size_t i = 0; i < inputs.size(); ++i) EXPECT_EQ(run.gradients[i].shape(), inputs[i].shape());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ContextDTypes, ::testing::Values(DType::kF32, DType::kBF16, DType::kF16),
                         [](const auto& info) { return name_of(info.param); });

TEST(Broadcast, RefusesWhatDoesNotFit) {
  const Tensor x = Tensor::zeros({2, 3, 4, 5}, DType::kF32);
  EXPECT_THROW(add_per_image(x, Tensor::zeros({1, 1, 1, 5}, DType::kF32)), Error);
  EXPECT_THROW(blend(x, x, x), Error);
  EXPECT_THROW(concat_channels({x, Tensor::zeros({2, 3, 5, 5}, DType::kF32)}), Error);
  EXPECT_THROW(slice_channels(x, 2, 6), Error);
  EXPECT_THROW(image_mean(Tensor({2, 0, 4, 5}, DType::kF32)), Error);
}

}  // namespace
}  // namespace osprey
