#include "models/plugins/context_block.h"

#include "core/autograd/gradcheck.h"
#include "core/ops/pixel_softmax.h"
#include "models/backbones/resnet.h"
#include "tests/devices.h"
#include "tests/models/model_golden.h"

namespace osprey::testing {
namespace {

// Numbers that a script beside PyTorch can repeat: ((7 k + seed) mod 11 - 5) / 10.
Tensor pattern(Shape shape, int64_t seed, double offset = 0) {
  Tensor tensor(std::move(shape), DType::kF32);
  for (int64_t k = 0; k < tensor.numel(); ++k) {
    tensor.mutable_data<float>()[k] =
        static_cast<float>(static_cast<double>((7 * k + seed) % 11 - 5) / 10 + offset);
  }
  return tensor;
}

void put_transform(StateDict& state, const std::string& name, int64_t seed) {
  state.put(name + ".0.weight", pattern({3, 4, 1, 1}, seed));
  state.put(name + ".0.bias", pattern({3}, seed + 1));
  state.put(name + ".1.weight", pattern({3, 1, 1}, seed + 2, 1));
  state.put(name + ".1.bias", pattern({3, 1, 1}, seed + 3));
  state.put(name + ".3.weight", pattern({4, 3, 1, 1}, seed + 4));
  state.put(name + ".3.bias", pattern({4}, seed + 5));
}

struct Expected {
  const char* pooling_type;
  std::vector<float> y, grad_x;
};

// PyTorch 1.13 in f64, the block written out with its functions: conv2d, softmax, layer_norm, sigmoid.
const Expected kExpected[] = {
    {"att",
     {0.657242,  0.991987,  0.8007041, 0.6094213,  0.9441663, 0.7528834, 0.5634676,  0.3096178,
      0.055768,  0.5000051, 0.2461553, -0.0076945, 0.9006393, 0.6915013, 0.4823634,  0.8483548,
      0.6392169, 1.0052082, 0.1872978, 0.0037718,  0.3249424, 0.1414163, -0.0421098, 0.2790609},
     {-0.0223645, -0.2017564, 0.1300201, -0.0699138, -0.249124,  0.0892124, -0.0790684, 0.3458976,
      0.0920019,  -0.1423434, 0.2822763, 0.0195121,  -0.2434201, 0.1290648, -0.0724631, -0.2967486,
      0.0759341,  -0.1253622, 0.264058,  0.0841749,  -0.1176201, 0.2205018, 0.0404891,  -0.1529952}},
    {"avg",
     {0.6746024, 1.0085831, 0.817737,  0.6268909, 0.9608716, 0.7700255, 0.5807282,  0.3272182,
      0.0737082, 0.5173507, 0.2638407, 0.0103307, 0.9188656, 0.7100219, 0.5011782,  0.8666547,
      0.657811,  1.0232875, 0.2065104, 0.022969,  0.3441665, 0.160625,  -0.0229164, 0.2982811},
     {-0.0131959, -0.204042,  0.1299387, -0.0609074, -0.2517535, 0.0822271, -0.0950586, 0.3485838,
      0.0950739,  -0.1584361, 0.2852063, 0.0316964,  -0.2350505, 0.130426,  -0.0784177, -0.2872614,
      0.078215,   -0.1306287, 0.2611231, 0.0775817,  -0.1059597, 0.2152378, 0.0316964,  -0.1518451}},
};

TEST(ContextBlockTest, AgreesWithPyTorch) {
  for (const Device device : devices_in_build()) {
    for (const Expected& expected : kExpected) {
      SCOPED_TRACE(expected.pooling_type);
      ContextBlock block(
          parse_config(str_cat("{in_channels: 4, ratio: 0.75, pooling_type: ", expected.pooling_type,
                               ", fusion_types: [channel_add, channel_mul]}")));
      StateDict state;
      if (std::string(expected.pooling_type) == "att") {
        state.put("conv_mask.weight", pattern({1, 4, 1, 1}, 2));
        state.put("conv_mask.bias", pattern({1}, 3));
      }
      put_transform(state, "channel_add_conv", 10);
      put_transform(state, "channel_mul_conv", 20);
      EXPECT_TRUE(block.load_state_dict(state).clean());
      block.to(device);
      const Variable x(nchw_to_nhwc(pattern({1, 4, 2, 3}, 1)).to(device), true);
      const Variable y = block.forward(x);
      EXPECT_TENSOR_NEAR(nhwc_to_nchw(y.value().to(kCPU)), Tensor::from(expected.y, {1, 4, 2, 3}), 2e-6,
                         1e-5);
      y.backward(nchw_to_nhwc(pattern({1, 4, 2, 3}, 5)).to(device));
      EXPECT_TENSOR_NEAR(nhwc_to_nchw(x.grad().to(kCPU)), Tensor::from(expected.grad_x, {1, 4, 2, 3}), 2e-6,
                         1e-5);
    }
  }
}

TEST(ContextBlockTest, PixelSoftmaxHasTheRightGradient) {
  EXPECT_GRADCHECK([](const Variables& in) { return pixel_softmax(in[0]); },
                   {uniform({2, 3, 4, 1}, -2, 2, 1).to(DType::kF64)});
}

TEST(ContextBlockTest, RunsInHalfAndStartsAsIdentity) {
  ContextBlock block(parse_config("{in_channels: 8, ratio: 0.25}"));
  block.assign_paths();
  block.init_weights(3);
  block.convert_precision(DType::kF16);
  const Tensor x = uniform({2, 5, 4, 8}, -1, 1, 2).to(DType::kF16);
  EXPECT_TENSOR_EQ(block.forward(x).value(), x);
}

TEST(ContextBlockTest, BadConfigsAreRefused) {
  EXPECT_THROW(ContextBlock(parse_config("{in_channels: 4, ratio: 0.1}")), UserError);
  EXPECT_THROW(ContextBlock(parse_config("{in_channels: 4, ratio: 1, pooling_type: max}")), UserError);
  EXPECT_THROW(ContextBlock(parse_config("{in_channels: 4, ratio: 1, fusion_types: []}")), UserError);
  EXPECT_THROW(ContextBlock(parse_config("{in_channels: 4, ratio: 1, fusion_types: [add]}")), UserError);
}

std::unique_ptr<Backbone> with_plugins(const std::string& plugins, int depth = 50) {
  auto backbone = build<Backbone>(parse_config(str_cat(
      "type: ResNet\nbase_channels: 8\nnorm_eval: false\ndepth: ", depth, "\nplugins: ", plugins, "\n")));
  backbone->assign_paths();
  backbone->init_weights(3);
  return backbone;
}

TEST(PluginsTest, StandBehindTheNamedConvolutionOfTheFlaggedStages) {
  const auto backbone = with_plugins(
      "[{cfg: {type: ContextBlock, ratio: 0.25}, stages: [false, true, false, true], position: after_conv3}, "
      "{cfg: {type: ContextBlock, ratio: 0.5, postfix: _b}, stages: [true, true, false, false], position: "
      "after_conv2}]");
  const StateDict state = backbone->state_dict();
  EXPECT_EQ(state.find("layer2.1.context_block.conv_mask.weight")->shape(), (Shape{1, 64, 1, 1}));
  EXPECT_EQ(state.find("layer2.1.context_block.channel_add_conv.0.weight")->shape(), (Shape{16, 64, 1, 1}));
  EXPECT_EQ(state.find("layer1.0.context_block_b.conv_mask.weight")->shape(), (Shape{1, 8, 1, 1}));
  EXPECT_EQ(state.find("layer3.0.context_block.conv_mask.weight"), nullptr);
  EXPECT_EQ(state.find("layer4.0.context_block_b.conv_mask.weight"), nullptr);
}

// They start as identity, so a backbone with them begins as the one without; and they learn.
TEST(PluginsTest, BeginAsNothingAndLearn) {
  const auto with = with_plugins(
      "[{cfg: {type: ContextBlock, ratio: 0.25}, position: after_conv1}, "
      "{cfg: {type: ContextBlock, ratio: 0.25, postfix: _3}, position: after_conv3}]");
  const auto without = with_plugins("null");
  const Tensor img = uniform({1, 64, 48, 3}, -1, 1, 1);
  const Variables a = with->forward(img), b = without->forward(img);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_LE(relative_l2(a[i].value(), b[i].value()), 1e-5) << i;
  probe_loss(a).backward();
  for (const auto& [name, parameter] : with->named_parameters()) {
    EXPECT_TRUE(parameter->variable.grad().defined()) << name;
  }
}

TEST(PluginsTest, BadConfigsAreRefused) {
  EXPECT_THROW(with_plugins("[{cfg: {type: ContextBlok, ratio: 0.5}, position: after_conv1}]"), UserError);
  EXPECT_THROW(with_plugins("[{cfg: {type: ContextBlock, ratio: 0.5}, position: after_conv4}]"), UserError);
  EXPECT_THROW(
      with_plugins("[{cfg: {type: ContextBlock, ratio: 0.5}, position: after_conv1, stages: [true]}]"),
      UserError);
  EXPECT_THROW(with_plugins("[{cfg: {type: ContextBlock, ratio: 0.5}, position: after_conv1}]", 18),
               UserError);
  EXPECT_THROW(with_plugins("[{cfg: {type: ContextBlock, ratio: 0.5}, position: after_conv1}, "
                            "{cfg: {type: ContextBlock, ratio: 0.5}, position: after_conv2}]"),
               UserError);
}

}  // namespace
}  // namespace osprey::testing
