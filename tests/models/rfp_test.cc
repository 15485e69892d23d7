#include "models/necks/rfp.h"

#include <filesystem>

#include "core/base/logging.h"
#include "core/io/safetensors.h"
#include "tests/models/model_golden.h"

// Numbers are judged by the golden case detectors_htc.
namespace osprey::testing {
namespace {

constexpr const char* kBackbone =
    "type: DetectoRS_ResNet\ndepth: 50\nbase_channels: 4\nnorm_eval: false\nconv_cfg: {type: ConvAWS}\n";

std::string neck_cfg(const std::string& rfp_backbone, const std::string& more = "") {
  return "type: RFP\nin_channels: [16, 32, 64, 128]\nout_channels: 8\nnum_outs: 5\naspp_out_channels: 2\n" +
         more + "rfp_backbone:\n  " + [&] {
           std::string indented;
           for (const char c : rfp_backbone) indented += c == '\n' ? std::string("\n  ") : std::string(1, c);
           return indented;
         }();
}

std::string recursive_backbone() { return std::string(kBackbone) + "rfp_inplanes: 8\n"; }

std::unique_ptr<Neck> make_neck(const std::string& cfg) {
  set_log_level("ERROR");
  auto neck = build<Neck>(parse_config(cfg));
  neck->assign_paths("neck");
  neck->init_weights(5);
  return neck;
}

Variables backbone_maps() {
  const auto backbone = build<Backbone>(parse_config(std::string(kBackbone) + "output_img: true\n"));
  backbone->assign_paths("backbone");
  backbone->init_weights(4);
  return backbone->forward(uniform({2, 64, 96, 3}, -1, 1, 1));
}

std::string error_of(const std::string& cfg) {
  try {
    build<Neck>(parse_config(cfg));
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(RFPTest, GivesThePyramidsShapes) {
  const Variables feats = backbone_maps();
  for (const char* steps : {"rfp_steps: 1\n", "rfp_steps: 2\n", "rfp_steps: 3\n"}) {
    const Variables outs = make_neck(neck_cfg(recursive_backbone(), steps))->forward(feats);
    ASSERT_EQ(outs.size(), 5u);
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(outs[i].dim(1), feats[i + 1].dim(1));
    for (const Variable& out : outs) EXPECT_EQ(out.dim(3), 8);
  }
}

TEST(RFPTest, EveryStepHasABackboneOfItsOwnAndTheyShareTheRest) {
  const auto neck = make_neck(neck_cfg(recursive_backbone(), "rfp_steps: 3\n"));
  const StateDict state = neck->state_dict();
  EXPECT_NE(state.find("rfp_modules.1.layer4.0.rfp_conv.weight"), nullptr);
  EXPECT_EQ(state.find("rfp_modules.2.conv1.weight"), nullptr);
  EXPECT_GT(relative_l2(*state.find("rfp_modules.0.conv1.weight"), *state.find("rfp_modules.1.conv1.weight")),
            0.1);
  for (const char* shared : {"rfp_aspp.aspp.3.bias", "rfp_weight.weight", "lateral_convs.0.conv.weight"}) {
    EXPECT_NE(state.find(shared), nullptr) << shared;
  }
}

// The gate starts at a half: old and new pyramid in equal parts. A gate of 0 leaves the old one.
TEST(RFPTest, TheGateMixesOldAndNew) {
  const Variables feats = backbone_maps();
  const auto neck = make_neck(neck_cfg(recursive_backbone()));
  const Variables half = neck->forward(feats);
  const auto with_gate = [&](double bias) {
    StateDict state = neck->state_dict();
    state.put("rfp_weight.bias", Tensor::full({1}, bias, DType::kF32));
    EXPECT_TRUE(neck->load_state_dict(state).clean());
    return neck->forward(feats);
  };
  const Variables old = with_gate(-200), fresh = with_gate(200);
  const auto once = make_neck(neck_cfg(recursive_backbone(), "rfp_steps: 1\n"));
  const Variables plain = once->forward(feats);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_TENSOR_NEAR(old[i].value(), plain[i].value(), 1e-6, 1e-6);
    std::vector<double> a = old[i].value().to_doubles(), b = fresh[i].value().to_doubles(),
                        h = half[i].value().to_doubles();
    for (size_t k = 0; k < h.size(); ++k) ASSERT_NEAR(h[k], (a[k] + b[k]) / 2, 1e-4) << i << ", " << k;
  }
}

TEST(RFPTest, EveryWeightLearns) {
  const auto neck = make_neck(neck_cfg(recursive_backbone()));
  for (const auto& [name, parameter] : neck->named_parameters()) {
    if (name.find("rfp_conv") != std::string::npos) parameter->variable.mutable_value().fill(0.01);
  }
  probe_loss(neck->forward(backbone_maps())).backward();
  for (const auto& [name, parameter] : neck->named_parameters()) {
    ASSERT_TRUE(parameter->variable.grad().defined()) << name;
    EXPECT_TRUE(all_finite(parameter->variable.grad())) << name;
  }
}

TEST(RFPTest, RunsInHalfPrecision) {
  const auto neck = make_neck(neck_cfg(recursive_backbone()));
  const Variables feats = backbone_maps(), exact = neck->forward(feats);
  neck->convert_precision(DType::kF16);
  const Variables half = neck->forward(feats);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(half[i].dtype(), DType::kF16);
    EXPECT_LE(relative_l2(half[i].value(), exact[i].value()), 2e-2) << i;
  }
}

TEST(RFPTest, FillsItsBackbonesFromTheirOwnCheckpoint) {
  const std::string path = ::testing::TempDir() + "/rfp_backbone.safetensors";
  const auto source = build<Backbone>(parse_config(kBackbone));
  source->assign_paths("source");
  source->init_weights(99);
  Safetensors content;
  const StateDict wanted = source->state_dict();
  for (const auto& [name, tensor] : wanted.entries()) {
    if (name.find("weight_gamma") == std::string::npos && name.find("weight_beta") == std::string::npos) {
      content.tensors.emplace_back(name, tensor);
    }
  }
  write_safetensors(path, content);
  const auto neck =
      make_neck(neck_cfg(recursive_backbone() + "pretrained: " + path + "\n", "rfp_steps: 3\n"));
  const StateDict filled = neck->state_dict();
  for (const char* name : {"conv1.weight", "layer3.1.conv2.weight", "layer3.1.conv2.weight_gamma"}) {
    for (const char* step : {"rfp_modules.0.", "rfp_modules.1."}) {
      EXPECT_TENSOR_NEAR(*filled.find(std::string(step) + name), *wanted.find(name), 1e-6, 1e-5);
    }
  }
  std::filesystem::remove(path);
}

TEST(RFPTest, BadConfigsAreRefused) {
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(error_of(neck_cfg(std::string(kBackbone) + "rfp_inplanes: 9\n")), "aspp_dilations, 8"));
  EXPECT_TRUE(has(error_of(neck_cfg("type: ResNet\ndepth: 50\nrfp_inplanes: 8\n")), "DetectoRS_ResNet"));
  EXPECT_TRUE(
      has(error_of(neck_cfg(recursive_backbone(), "aspp_dilations: [1, 3]\n")), "the last of them 1"));
  const auto neck = make_neck(neck_cfg(recursive_backbone()));
  Variables without_image = backbone_maps();
  without_image.erase(without_image.begin());
  try {
    neck->forward(without_image);
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_TRUE(has(error.what(), "set backbone.output_img: true")) << error.what();
  }
}

}  // namespace
}  // namespace osprey::testing
