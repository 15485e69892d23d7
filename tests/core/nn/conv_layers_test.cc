#include "core/nn/conv_aws2d.h"
#include "core/nn/conv_module.h"
#include "core/nn/conv_ws2d.h"
#include "core/nn/deform_conv2d_pack.h"
#include "core/nn/init.h"
#include "core/nn/modulated_deform_conv2d_pack.h"
#include "core/nn/sa_conv2d.h"
#include "core/ops/elementwise.h"
#include "tests/devices.h"
#include "tests/golden.h"

// The convolutions that conv_cfg, dcn and sac choose between.
namespace osprey::testing {
namespace {

// Names of the layers' parameters in the fixtures: "offset_s_weight" for "offset_s.weight".
std::string fixture_name(std::string name) {
  for (const auto& [from, to] :
       {std::pair<std::string, std::string>{"pre_context", "pre"}, {"post_context", "post"}}) {
    if (starts_with(name, from)) name = to + name.substr(from.size());
  }
  for (char& c : name) c = c == '.' ? '_' : c;
  return name;
}

// A layer of `cfg` for a case of a fixture, with its weights.
std::unique_ptr<ConvLayer> golden_layer(const Golden& golden, const std::string& name,
                                        const std::string& cfg) {
  const Shape shape = golden.tensor(name + "/weight").shape();
  const int64_t groups = golden.has_param(name, "groups") ? golden.integer(name, "groups") : 1;
  const int64_t stride = golden.has_param(name, "stride") ? golden.integer(name, "stride") : 1;
  const int64_t padding = golden.has_param(name, "padding") ? golden.integer(name, "padding") : 1;
  const int64_t dilation = golden.has_param(name, "dilation") ? golden.integer(name, "dilation") : 1;
  auto layer =
      build_conv_layer(parse_config(cfg), shape[1] * groups, shape[0], shape[2],
                       Conv2dParams::square(stride, padding, dilation, groups), golden.has(name + "/bias"));
  const StateDict drawn = layer->state_dict();
  StateDict state;
  for (const auto& [entry, tensor] : drawn.entries()) {
    const std::string stored = name + "/" + fixture_name(entry);
    if (golden.has(stored)) state.put(entry, golden.tensor(stored));
  }
  const LoadReport report = layer->load_state_dict(state);
  EXPECT_TRUE(report.clean()) << "missing: " << join(report.missing) << join(report.mismatched);
  return layer;
}

void expect_near(const Tensor& actual, const Tensor& expected, const std::string& what) {
  EXPECT_TRUE(tensor_near(actual, expected, 1e-5, 1e-4)) << what;
}

// Output and, where the fixture has them, all gradients of one case.
void expect_golden_layer(const Golden& golden, const std::string& name, const std::string& cfg,
                         Device device) {
  SCOPED_TRACE(name);
  const auto layer = golden_layer(golden, name, cfg);
  layer->to(device);
  const Variable x(nchw_to_nhwc(golden.tensor(name + "/input")).to(device), true);
  const Variable y = layer->forward(x);
  expect_near(nhwc_to_nchw(y.value().to(kCPU)), golden.tensor(name + "/output"), "output");
  if (!golden.has(name + "/grad_output")) return;
  y.backward(nchw_to_nhwc(golden.tensor(name + "/grad_output")).to(device));
  expect_near(nhwc_to_nchw(x.grad().to(kCPU)), golden.tensor(name + "/grad_input"), "grad_input");
  for (const auto& [parameter_name, parameter] : layer->named_parameters()) {
    const std::string stored = name + "/grad_" + fixture_name(parameter_name);
    if (!golden.has(stored)) continue;
    const Tensor grad = parameter->layout.to_reference(parameter->variable.grad().to(kCPU));
    expect_near(grad, golden.tensor(stored), parameter_name);
  }
}

class ConvLayers : public ::testing::TestWithParam<Device> {};

TEST_P(ConvLayers, DeformablePacksAgreeWithTheReference) {
  const Golden golden = Golden::open("ops/deform_conv");
  int cases = 0;
  for (const std::string& name : golden.cases()) {
    if (!golden.has(name + "/conv_offset_weight")) continue;
    const int64_t taps = golden.tensor(name + "/weight").dim(2) * golden.tensor(name + "/weight").dim(3);
    const int64_t groups =
        golden.has_param(name, "deform_groups") ? golden.integer(name, "deform_groups") : 1;
    const bool modulated = golden.tensor(name + "/conv_offset_weight").dim(0) == 3 * taps * groups;
    expect_golden_layer(golden, name,
                        str_cat("{type: ", modulated ? "DCNv2" : "DCN", ", deform_groups: ", groups, "}"),
                        GetParam());
    ++cases;
  }
  EXPECT_GT(cases, 0);
}

TEST_P(ConvLayers, StandardisedAndSwitchableOnesAgreeWithTheReference) {
  const Golden golden = Golden::open("ops/layers");
  int cases = 0;
  for (const std::string& name : golden.cases()) {
    const std::string op = golden.text(name, "op");
    if (op != "ConvWS2d" && op != "ConvAWS2d" && op != "SAConv2d") continue;
    const std::string type = op == "SAConv2d" ? "SAC" : op.substr(0, op.size() - 2);
    const bool deform = golden.has_param(name, "use_deform") && golden.flag(name, "use_deform");
    expect_golden_layer(golden, name, str_cat("{type: ", type, deform ? ", use_deform: true}" : "}"),
                        GetParam());
    ++cases;
  }
  EXPECT_GT(cases, 0);
}

INSTANTIATE_TEST_SUITE_P(All, ConvLayers, ::testing::ValuesIn(devices_in_build()),
                         [](const auto& info) { return device_name(info.param); });

TEST(ConvAWS2dTest, StandardisedWeightsAgreeWithTheReference) {
  const Golden golden = Golden::open("ops/layers");
  int cases = 0;
  for (const std::string& name : golden.cases()) {
    if (!golden.has(name + "/standardised_weight")) continue;
    SCOPED_TRACE(name);
    const bool plain = golden.text(name, "op") == "ConvAWS2d state loading";
    const Tensor& weight = golden.tensor(name + "/weight");
    ConvAWS2d layer(weight.dim(1), weight.dim(0), weight.dim(2), {}, /*bias=*/false);
    StateDict state;
    state.put("weight", weight);
    if (!plain) {
      state.put("weight_gamma", golden.tensor(name + "/weight_gamma"));
      state.put("weight_beta", golden.tensor(name + "/weight_beta"));
    }
    EXPECT_TRUE(layer.load_state_dict(state).clean());
    const StateDict loaded = layer.state_dict();
    for (const char* buffer : {"weight_gamma", "weight_beta"}) {
      EXPECT_TENSOR_NEAR(*loaded.find(buffer), golden.tensor(name + "/" + buffer), 1e-6, 1e-5);
    }
    EXPECT_TENSOR_NEAR(nhwc_to_nchw(layer.standardised_weight().value()),
                       golden.tensor(name + "/standardised_weight"), 1e-6, 1e-5);
    ++cases;
  }
  EXPECT_GT(cases, 0);
}

Tensor output_of(const ConvLayer& layer) { return layer.forward(uniform({2, 6, 7, 4}, -1, 1, 20)).value(); }

// Story 16: a backbone trained with ordinary convolutions goes on where it was.
TEST(ConvAWS2dTest, AnOrdinaryWeightIsUsedAsItIs) {
  Conv2d plain(4, 6, 3, Conv2dParams::square(1, 1), /*bias=*/false);
  plain.init_weights(3);
  for (const char* cfg : {"{type: ConvAWS}", "{type: SAC}", "{type: SAC, use_deform: true}"}) {
    SCOPED_TRACE(cfg);
    const auto layer = build_conv_layer(parse_config(cfg), 4, 6, 3, Conv2dParams::square(1, 1), false);
    layer->init_weights(5);
    const LoadReport report = layer->load_state_dict(plain.state_dict());
    EXPECT_TRUE(report.unexpected.empty());
    for (const std::string& name : report.missing) EXPECT_EQ(name.find("weight_gamma"), std::string::npos);
    EXPECT_TENSOR_NEAR(output_of(*layer), output_of(plain), 1e-5, 1e-5);
  }
}

TEST(ConvAWS2dTest, BeginsAsThePlainConvolutionHoweverItsWeightIsDrawn) {
  ConvAWS2d layer(4, 6, 3, Conv2dParams::square(1, 1), false);
  const auto expect_plain = [&] {
    Conv2d plain(4, 6, 3, Conv2dParams::square(1, 1), false);
    StateDict state;
    state.put("weight", *layer.state_dict().find("weight"));
    EXPECT_TRUE(plain.load_state_dict(state).clean());
    EXPECT_TENSOR_NEAR(output_of(layer), output_of(plain), 1e-5, 1e-5);
  };
  layer.init_weights(1);
  expect_plain();
  kaiming_init(layer, 2);
  expect_plain();
  xavier_init(layer, 3);
  expect_plain();
}

TEST(ConvAWS2dTest, KeepsItsBuffersInF32AndComputesInHalf) {
  const auto layer = build_conv_layer(parse_config("{type: SAC, use_deform: true}"), 4, 6, 3,
                                      Conv2dParams::square(1, 1), false);
  layer->init_weights(1);
  const Tensor exact = output_of(*layer);
  layer->convert_precision(DType::kF16);
  for (const auto& [name, buffer] : layer->named_buffers()) EXPECT_EQ(buffer->value.dtype(), DType::kF32);
  const Tensor half = output_of(*layer);
  EXPECT_EQ(half.dtype(), DType::kF16);
  EXPECT_TENSOR_NEAR(half, exact, 2e-3, 2e-3);
}

TEST(DeformConv2dPackTest, StartsAsThePlainConvolution) {
  for (const char* cfg : {"{type: DCN, deform_groups: 2}", "{type: DCNv2, deform_groups: 2}"}) {
    SCOPED_TRACE(cfg);
    const auto layer = build_conv_layer(parse_config(cfg), 4, 6, 3, Conv2dParams::square(1, 1), false);
    layer->init_weights(5);
    Conv2d plain(4, 6, 3, Conv2dParams::square(1, 1), /*bias=*/false);
    StateDict state;
    state.put("weight", *layer->state_dict().find("weight"));
    ASSERT_TRUE(plain.load_state_dict(state).clean());
    const double mask = std::string(cfg).find("v2") == std::string::npos ? 1 : 0.5;  // sigmoid(0)
    EXPECT_TENSOR_NEAR(output_of(*layer), (mask * Variable(output_of(plain))).value(), 1e-5, 1e-5);
  }
}

// mmdetection 1 put the offsets beside the layer.
TEST(DeformConv2dPackTest, LoadsTheOldNamesOfItsOffsets) {
  ConvModule module(4, 6, 3, Conv2dParams::square(1, 1),
                    ConvModuleCfg::from(parse_config("{conv_cfg: {type: DCNv2}, norm_cfg: {type: BN}}")));
  module.init_weights(1);
  const StateDict present = module.state_dict();
  StateDict old;
  for (const auto& [name, tensor] : present.entries()) {
    const size_t at = name.find(".conv_offset");
    old.put(at == std::string::npos ? name : name.substr(0, at) + "_offset" + name.substr(at + 12),
            at == std::string::npos ? tensor : uniform(tensor.shape(), -1, 1, 4));
  }
  ASSERT_NE(old.find("conv_offset.weight"), nullptr);
  const LoadReport report = module.load_state_dict(old);
  EXPECT_TRUE(report.clean()) << join(report.missing) << join(report.unexpected);
  EXPECT_TENSOR_EQ(*module.state_dict().find("conv.conv_offset.weight"), *old.find("conv_offset.weight"));
}

TEST(ConvLayersTest, BadConfigsAreRefused) {
  const auto build = [](const std::string& cfg, int64_t kernel = 3, bool bias = false) {
    return build_conv_layer(parse_config(cfg), 4, 6, kernel, {}, bias);
  };
  EXPECT_THROW(build("{type: DCNv3}"), UserError);
  EXPECT_THROW(build("{type: DCN, deform_groups: 3}"), UserError);
  EXPECT_THROW(build("{type: DCN, deform_groups: 0}"), UserError);
  EXPECT_THROW(build("{type: DCN}", 3, /*bias=*/true), UserError);
  EXPECT_THROW(build("{type: SAC, use_deform: true}", 5), UserError);
  EXPECT_NO_THROW(build("{type: DCNv2, deform_groups: 2}", 3, /*bias=*/true));
}

}  // namespace
}  // namespace osprey::testing
