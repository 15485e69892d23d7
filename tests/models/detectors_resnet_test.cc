#include "models/backbones/detectors_resnet.h"

#include <map>

#include "core/amp/master_weights.h"
#include "core/nn/deform_conv2d_pack.h"
#include "core/optim/param_groups.h"
#include "tests/models/model_golden.h"

// The backbones with other convolutions, beside the golden cases of resnet_test.cc.
namespace osprey::testing {
namespace {

std::unique_ptr<Backbone> make_backbone(const std::string& cfg) {
  auto backbone = build<Backbone>(parse_config(cfg));
  backbone->assign_paths();
  backbone->init_weights(3);
  return backbone;
}

constexpr const char* kDcn =
    "type: ResNet\ndepth: 50\nbase_channels: 8\nnorm_eval: false\n"
    "dcn: {type: DCN, deform_groups: 2}\nstage_with_dcn: [false, true, false, true]\n";
constexpr const char* kDetectors =
    "type: DetectoRS_ResNet\ndepth: 50\nbase_channels: 8\nnorm_eval: false\nconv_cfg: {type: ConvAWS}\n"
    "sac: {type: SAC, use_deform: true}\nstage_with_sac: [false, true, true, true]\nrfp_inplanes: 8\n";

Tensor image() { return uniform({1, 64, 48, 3}, -1, 1, 1); }

std::string error_of(const std::string& cfg) {
  try {
    build<Backbone>(parse_config(cfg));
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

template <typename Layer>
std::map<std::string, int> layers_by_stage(Backbone& backbone) {
  std::map<std::string, int> count;
  for (const auto& [name, module] : backbone.named_modules()) {
    if (dynamic_cast<Layer*>(module)) ++count[name.substr(0, 6)];
  }
  return count;
}

TEST(DeformableResNet, DeformsTheFlaggedStages) {
  const auto backbone = make_backbone(kDcn);
  EXPECT_EQ(layers_by_stage<DeformLayer>(*backbone),
            (std::map<std::string, int>{{"layer2", 4}, {"layer4", 3}}));
}

TEST(DeformableResNet, FallsBackWhereThereIsAStride) {
  const auto backbone = make_backbone(std::string(kDcn) + "style: pytorch\n");
  const auto fallen = make_backbone(
      "type: ResNet\ndepth: 50\nbase_channels: 8\n"
      "dcn: {type: DCNv2, fallback_on_stride: true}\nstage_with_dcn: [true, true, true, true]\n");
  EXPECT_EQ(layers_by_stage<DeformLayer>(*fallen),
            (std::map<std::string, int>{{"layer1", 3}, {"layer2", 3}, {"layer3", 5}, {"layer4", 2}}));
}

TEST(DeformableResNet, OffsetsStartAtZeroAndTheRestIsDrawn) {
  const auto backbone = make_backbone(kDcn);
  for (const auto& [name, parameter] : backbone->named_parameters()) {
    const bool offset = name.find("conv_offset") != std::string::npos;
    const bool conv = ends_with(name, "weight") && parameter->variable.value().rank() == 4;
    const double norm =
        relative_l2(parameter->variable.value(), Tensor::zeros(parameter->variable.shape(), DType::kF32));
    if (offset || conv) {
      EXPECT_EQ(norm == 0, offset) << name;
    }
  }
}

TEST(DeformableResNet, OffsetsLearnAtARateOfTheirOwn) {
  const ConfigNode cfg = parse_config(
      "{type: SGD, lr: 0.1, weight_decay: 0.01, paramwise_cfg: {dcn_offset_lr_mult: 0.3, bias_lr_mult: 2}}");
  const auto backbone = make_backbone(kDcn);
  const MasterWeights masters(*backbone);
  const auto groups = build_param_groups(cfg, *build<Optimizer>(cfg), masters.trainable());
  int offsets = 0;
  for (const ParamGroup& group : groups) {
    const std::string& name = group.params[0]->name;
    const bool offset = name.find("conv_offset") != std::string::npos;
    EXPECT_DOUBLE_EQ(group.lr, offset ? 0.03 : 0.1) << name;
    EXPECT_DOUBLE_EQ(group.weight_decay, 0.01) << name;
    offsets += offset;
  }
  EXPECT_EQ(offsets, 2 * (4 + 3));
}

TEST(DetectorsResNet, StartsAsTheOrdinaryResNet) {
  const auto detectors = make_backbone(kDetectors);
  const auto plain = make_backbone("type: ResNet\ndepth: 50\nbase_channels: 8\nnorm_eval: false\n");
  // As an ordinary pretrained backbone is loaded.
  const LoadReport report = detectors->load_state_dict(plain->state_dict());
  EXPECT_TRUE(report.unexpected.empty() && report.mismatched.empty());
  detectors->train(false);
  plain->train(false);
  const Variables a = detectors->forward(image()), b = plain->forward(image());
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_LE(relative_l2(a[i].value(), b[i].value()), 1e-4) << i;
}

TEST(DetectorsResNet, OutputsTheImageFirstWhenAsked) {
  const auto with = make_backbone(std::string(kDetectors) + "output_img: true\n");
  const auto without = make_backbone(kDetectors);
  const Variables outs = with->forward(image());
  ASSERT_EQ(outs.size(), 5u);
  EXPECT_TENSOR_EQ(outs[0].value(), image());
  EXPECT_EQ(without->forward(image()).size(), 4u);
}

TEST(DetectorsResNet, RecursiveFeaturesJoinFromTheSecondStageOn) {
  const auto backbone = make_backbone(kDetectors);
  auto& recursive = dynamic_cast<DetectoRS_ResNet&>(*backbone);
  const Variables first = recursive.forward(image());
  Variables feats;
  for (const Variable& out : first) {
    feats.push_back(uniform({1, out.dim(1), out.dim(2), 8}, -1, 1, 5 + feats.size()));
  }
  // rfp_conv starts at 0: the features change nothing yet.
  const Variables untouched = recursive.rfp_forward(image(), feats);
  for (size_t i = 0; i < 4; ++i) EXPECT_TENSOR_EQ(untouched[i].value(), first[i].value());
  for (const auto& [name, parameter] : backbone->named_parameters()) {
    if (name.find("rfp_conv.weight") == std::string::npos) continue;
    EXPECT_EQ(name.substr(7, 2), "0.") << "only a stage's first block has one: " << name;
    parameter->variable.mutable_value().fill(0.1);
  }
  const Variables fed = recursive.rfp_forward(image(), feats);
  EXPECT_TENSOR_EQ(fed[0].value(), first[0].value());
  for (size_t i = 1; i < 4; ++i) EXPECT_GT(relative_l2(fed[i].value(), first[i].value()), 1e-3) << i;
}

// All gradients of a backbone whose outputs are probed.
std::map<std::string, Tensor> gradients(const std::string& cfg, bool recursive) {
  const auto backbone = make_backbone(cfg);
  const Tensor img = image();
  Variables outs = backbone->forward(img);
  if (recursive) {
    Variables feats;
    for (const Variable& out : outs)
      feats.push_back(Variable(uniform({1, out.dim(1), out.dim(2), 8}, -1, 1, 9)));
    outs = dynamic_cast<DetectoRS_ResNet&>(*backbone).rfp_forward(img, feats);
  }
  probe_loss(outs).backward();
  std::map<std::string, Tensor> all;
  for (const auto& [name, parameter] : backbone->named_parameters()) all[name] = parameter->variable.grad();
  return all;
}

TEST(DetectorsResNet, RecomputationChangesNoGradient) {
  for (const auto& [cfg, recursive] : {std::pair{kDcn, false}, {kDetectors, false}, {kDetectors, true}}) {
    const auto kept = gradients(cfg, recursive);
    const auto recomputed = gradients(std::string(cfg) + "with_cp: true\n", recursive);
    for (const auto& [name, gradient] : kept) {
      ASSERT_EQ(gradient.defined(), recomputed.at(name).defined()) << name;
      if (!gradient.defined()) continue;
      EXPECT_LE(relative_l2(recomputed.at(name), gradient), 1e-5) << name;
    }
  }
}

TEST(DetectorsResNet, GroupsMakeAResNeXt) {
  const auto backbone = make_backbone(
      "type: DetectoRS_ResNeXt\ndepth: 50\nbase_channels: 8\ngroups: 4\nbase_width: 4\nnorm_eval: false\n"
      "conv_cfg: {type: ConvAWS}\nsac: {type: SAC, use_deform: true}\n"
      "stage_with_sac: [false, true, true, true]\n");
  const StateDict state = backbone->state_dict();
  EXPECT_EQ(state.find("layer2.0.conv2.weight")->shape(), (Shape{32, 8, 3, 3}));
  EXPECT_EQ(state.find("layer2.0.conv2.offset_s.weight")->shape(), (Shape{18, 32, 3, 3}));
  for (const Variable& out : backbone->forward(image())) EXPECT_TRUE(all_finite(out.value()));
}

TEST(DetectorsResNet, BadConfigsAreRefused) {
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(error_of("{type: ResNet, depth: 18, dcn: {type: DCN}}"), "dcn needs bottlenecks"));
  EXPECT_TRUE(has(error_of("{type: ResNet, depth: 50, dcn: {type: DCN}, stage_with_dcn: [true]}"),
                  "one flag for each of the 4 stages, got 1"));
  EXPECT_TRUE(has(error_of("{type: ResNet, depth: 50, dcn: {type: DCNv4}}"), "DCNv2"));
  EXPECT_TRUE(has(error_of("{type: DetectoRS_ResNet, depth: 34}"), "depth 50, 101 or 152"));
  EXPECT_TRUE(has(error_of("{type: DetectoRS_ResNet, depth: 50, sac: {type: DCN}}"), "SAC"));
}

}  // namespace
}  // namespace osprey::testing
