#include <cmath>
#include <functional>

#include "core/nn/batch_norm2d.h"
#include "core/nn/conv2d.h"
#include "core/nn/conv_module.h"
#include "core/nn/conv_transpose2d.h"
#include "core/nn/init.h"
#include "core/nn/linear.h"
#include "tests/golden.h"

namespace osprey::testing {
namespace {

std::vector<std::string> parameter_names(Module& module) {
  std::vector<std::string> names;
  for (const auto& [name, parameter] : module.named_parameters()) names.push_back(name);
  return names;
}

struct Moments {
  double mean, std;
};
Moments moments(const Tensor& tensor) {
  const std::vector<double> values = tensor.to_doubles();
  double sum = 0, squares = 0;
  for (const double v : values) sum += v;
  const double mean = sum / static_cast<double>(values.size());
  for (const double v : values) squares += (v - mean) * (v - mean);
  return {mean, std::sqrt(squares / static_cast<double>(values.size()))};
}

ConvModule make_conv_module(const std::string& yaml) {
  return ConvModule(8, 8, 3, Conv2dParams::square(1, 1), ConvModuleCfg::from(parse_config(yaml)));
}

TEST(ConvModuleTest, NamesAndBiasFollowTheNorm) {
  const auto names = [](const std::string& yaml) {
    ConvModule module(8, 8, 3, Conv2dParams::square(1, 1), ConvModuleCfg::from(parse_config(yaml)));
    return parameter_names(module);
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names("{}"), (Names{"conv.weight", "conv.bias"}));
  EXPECT_EQ(names("norm_cfg: {type: BN}"), (Names{"conv.weight", "bn.weight", "bn.bias"}));
  EXPECT_EQ(names("norm_cfg: {type: GN, num_groups: 4}"), (Names{"conv.weight", "gn.weight", "gn.bias"}));
}

TEST(ConvModuleTest, ActivationDefaultsToReLUAndNullMeansNone) {
  const auto lowest = [](const std::string& yaml) {
    ConvModule module(8, 8, 3, Conv2dParams::square(1, 1), ConvModuleCfg::from(parse_config(yaml)));
    module.init_weights(3);
    const Variable y = module.forward(uniform({1, 5, 4, 8}, -1, 1, 1));
    const std::vector<double> values = y.value().to_doubles();
    return *std::min_element(values.begin(), values.end());
  };
  EXPECT_EQ(lowest("{}"), 0);
  EXPECT_LT(lowest("act_cfg: null"), 0);
}

TEST(ConvModuleTest, UnknownPartsAreRefused) {
  EXPECT_THROW(make_conv_module("conv_cfg: {type: Conv9d}"), UserError);
  EXPECT_THROW(make_conv_module("norm_cfg: {type: XN}"), UserError);
  EXPECT_THROW(make_conv_module("act_cfg: {type: Swishy}"), UserError);
  EXPECT_THROW(make_conv_module("norm_cfg: {type: GN, num_groups: 3}"), UserError);
}

// Channels that do not fit come from two places of a config: the message names the layer.
TEST(LayersTest, InputsOfTheWrongWidthNameTheLayer) {
  Linear linear(3, 2);
  Conv2d conv(3, 2, 1);
  ConvTranspose2d deconv(3, 2, 2);
  const Variable x(Tensor::zeros({1, 4, 4, 5}, DType::kF32));
  const std::vector<std::pair<Module*, std::function<void()>>> layers = {
      {&linear, [&] { linear.forward(x); }}, {&conv, [&] { conv.forward(x); }}, {&deconv, [&] {
                                                                                   deconv.forward(x);
                                                                                 }}};
  for (const auto& [layer, forward] : layers) {
    layer->assign_paths("neck.lateral");
    try {
      forward();
      ADD_FAILURE() << "no error";
    } catch (const UserError& error) {
      EXPECT_TRUE(starts_with(error.what(), "neck.lateral: takes 3 ")) << error.what();
    }
  }
}

TEST(LinearTest, MapWeightsAppearInTheReferencesOrder) {
  // One output that picks channel 1 at (y, x) = (0, 1) of a (2, 2, 3) map: index c * 4 + y * 2 + x = 5.
  Linear linear(Shape{2, 2, 3}, 1);
  StateDict state;
  Tensor weight = Tensor::zeros({1, 12}, DType::kF32);
  weight.mutable_data<float>()[5] = 1;
  state.put("weight", weight);
  state.put("bias", Tensor::zeros({1}, DType::kF32));
  ASSERT_TRUE(linear.load_state_dict(state).clean());
  const Tensor map = uniform({1, 2, 2, 3}, -1, 1, 4);
  EXPECT_EQ(linear.forward(map).value().item(), map.to_doubles()[1 * 3 + 1]);
  EXPECT_TENSOR_EQ(linear.state_dict().entries()[0].second, weight);
}

TEST(InitTest, NumbersDependOnSeedAndPathAlone) {
  Linear a(6, 5), b(6, 5);
  a.assign_paths("head.fc");
  b.assign_paths("head.fc");
  a.init_weights(7);
  b.init_weights(7);
  EXPECT_TRUE(bitwise_equal(a.weight().variable.value(), b.weight().variable.value()));
  b.init_weights(8);
  EXPECT_FALSE(bitwise_equal(a.weight().variable.value(), b.weight().variable.value()));
  b.assign_paths("head.fc2");
  b.init_weights(7);
  EXPECT_FALSE(bitwise_equal(a.weight().variable.value(), b.weight().variable.value()));
}

TEST(InitTest, SpreadsFollowTheFormulas) {
  Conv2d conv(32, 64, 3);  // fan_in 288, fan_out 576
  const auto spread = [&] { return moments(conv.weight().variable.value()).std; };
  kaiming_init(conv, 1);
  EXPECT_NEAR(spread(), std::sqrt(2.0 / 576), 1e-3);
  kaiming_init(conv, 1, {.mode = FanMode::kFanIn, .distribution = Distribution::kUniform});
  EXPECT_NEAR(spread(), std::sqrt(2.0 / 288), 1e-3);
  xavier_init(conv, 1, Distribution::kUniform);
  EXPECT_NEAR(spread(), std::sqrt(2.0 / (288 + 576)), 1e-3);
  normal_init(conv, 1, 0.01);
  EXPECT_NEAR(spread(), 0.01, 2e-4);
  caffe2_xavier_init(conv, 1);
  EXPECT_NEAR(spread(), std::sqrt(1.0 / 288), 1e-3);
  EXPECT_NEAR(moments(conv.weight().variable.value()).mean, 0, 1e-3);
  EXPECT_EQ(conv.bias()->variable.value().to_doubles(), std::vector<double>(64, 0.0));
}

TEST(BatchNormTest, StatisticsWaitForTheCommit) {
  const Tensor x = uniform({2, 4, 3, 5}, 1, 3, 9);
  BatchNorm2d norm(parse_config("{type: BN, momentum: 0.5}"), 5);
  StateDict before = norm.state_dict();
  norm.forward(x);
  EXPECT_TRUE(bitwise_equal(*norm.state_dict().find("running_mean"), *before.find("running_mean")));
  norm.discard_buffers();
  norm.forward(x);
  norm.forward(x);
  norm.commit_buffers();
  const StateDict after = norm.state_dict();
  EXPECT_EQ(after.find("num_batches_tracked")->item(), 2);
  EXPECT_NEAR(after.find("running_mean")->to_doubles()[0], 2 * 0.75, 0.2);  // two halvings towards about 2
}

TEST(BatchNormTest, EvaluationUsesTheBuffersAndFusesRelu) {
  const Tensor x = uniform({2, 4, 3, 5}, -3, 3, 9);
  const Tensor shortcut = uniform({2, 4, 3, 5}, -1, 1, 10);
  BatchNorm2d norm(parse_config("{type: BN}"), 5);
  norm.train(false);
  const std::vector<double> in = x.to_doubles(), added = shortcut.to_doubles();
  const std::vector<double> out = norm.forward_relu(x, shortcut).value().to_doubles();
  for (size_t i = 0; i < in.size(); ++i) {
    EXPECT_NEAR(out[i], std::max(0.0, in[i] / std::sqrt(1 + 1e-5) + added[i]), 1e-6);
  }
}

TEST(HalfPrecisionTest, NormsStayInF32AndActivationsTakeTheWeightsDtype) {
  ConvModule module(4, 4, 3, Conv2dParams::square(1, 1),
                    ConvModuleCfg::from(parse_config("norm_cfg: {type: BN}")));
  module.init_weights(1);
  module.convert_precision(DType::kF16);
  for (const auto& [name, parameter] : module.named_parameters()) {
    EXPECT_EQ(parameter->variable.dtype(), starts_with(name, "bn") ? DType::kF32 : DType::kF16) << name;
  }
  EXPECT_EQ(module.forward(uniform({1, 4, 4, 4}, -1, 1, 2)).dtype(), DType::kF16);
}

TEST(ConvTransposeTest, LoadsTheReferencesLayout) {
  ConvTranspose2d deconv(3, 5, 2, Conv2dParams::square(2, 0));
  EXPECT_EQ(deconv.state_dict().find("weight")->shape(), (Shape{3, 5, 2, 2}));
  EXPECT_EQ(deconv.forward(uniform({1, 4, 3, 3}, -1, 1, 1)).shape(), (Shape{1, 8, 6, 5}));
}

}  // namespace
}  // namespace osprey::testing
