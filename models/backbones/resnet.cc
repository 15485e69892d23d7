#include "models/backbones/resnet.h"

#include <algorithm>

#include "core/nn/batch_norm2d.h"
#include "core/nn/init.h"
#include "core/ops/pool2d.h"
#include "models/backbones/resnet_stage.h"

namespace osprey {
namespace {

// A list with one entry per stage.
std::vector<int64_t> read_per_stage(const ConfigNode& cfg, const std::string& key,
                                    std::vector<int64_t> fallback, int64_t num_stages) {
  fallback.resize(num_stages);
  const auto values = cfg.get(key, fallback, positive());
  if (static_cast<int64_t>(values.size()) == num_stages) return values;
  cfg[key].fail(
      str_cat(key, " needs one number for each of the ", num_stages, " stages, got ", values.size()));
}

std::vector<int64_t> read_out_indices(const ConfigNode& cfg, int64_t num_stages) {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < num_stages; ++i) all.push_back(i);
  const auto indices = cfg.get("out_indices", all, non_negative());
  for (const int64_t index : indices) {
    if (index >= 0 && index < num_stages) continue;
    cfg["out_indices"].fail(str_cat("there is no stage ", index, "; stages are 0..", num_stages - 1));
  }
  return indices;
}

// The entries of `plugins` {cfg, stages, position} that a stage has.
std::vector<BlockPlugin> read_plugins(const ConfigNode& cfg, bool bottleneck, int64_t stage,
                                      int64_t num_stages) {
  const ConfigNode list = cfg.find("plugins");
  if (list.is_null()) return {};
  if (!bottleneck) list.fail("plugins need bottlenecks: depth 50, 101 or 152");
  std::vector<BlockPlugin> plugins;
  for (const ConfigNode& entry : list.items()) {
    const std::vector<bool> everywhere(static_cast<size_t>(num_stages), true);
    const auto stages = entry.get("stages", everywhere);
    if (static_cast<int64_t>(stages.size()) != num_stages) {
      entry["stages"].fail(str_cat("needs one flag for each of the ", num_stages, " stages"));
    }
    const std::string position = entry.choice("position", "", {"after_conv1", "after_conv2", "after_conv3"});
    const BlockPlugin plugin{entry["cfg"], position.back() - '0'};
    if (stages[stage]) plugins.push_back(plugin);
  }
  return plugins;
}

// `dcn` or `sac`: what takes the place of the 3x3 convolutions in the stages that `stage_with_...` flags.
class StageConv {
 public:
  StageConv(const ConfigNode& cfg, const std::string& key, const std::vector<std::string>& types,
            bool bottleneck, int64_t num_stages)
      : conv_cfg_(cfg.find(key)) {
    const std::string flags_key = "stage_with_" + key;
    if (conv_cfg_.is_null()) {
      cfg.find(flags_key).mark_read();  // means nothing alone
      return;
    }
    if (!bottleneck) conv_cfg_.fail(str_cat(key, " needs bottlenecks: depth 50, 101 or 152"));
    conv_cfg_.choice("type", "", types);
    flags_ = cfg.get(flags_key, std::vector<bool>(static_cast<size_t>(num_stages), false));
    if (static_cast<int64_t>(flags_.size()) == num_stages) return;
    cfg[flags_key].fail(
        str_cat("needs one flag for each of the ", num_stages, " stages, got ", flags_.size()));
  }
  // Null where the stage keeps its convolutions.
  ConfigNode of(size_t stage) const { return given() && flags_[stage] ? conv_cfg_ : ConfigNode(); }
  bool given() const { return !conv_cfg_.is_null(); }
  bool flag(const std::string& key) const { return given() && conv_cfg_.get(key, false); }

 private:
  ConfigNode conv_cfg_;
  std::vector<bool> flags_;
};

}  // namespace

ResNet::Variant ResNet::Variant::from(const ConfigNode& cfg) {
  return {.deep_stem = cfg.get("deep_stem", false), .avg_down = cfg.get("avg_down", false)};
}

ResNet::Variant ResNet::Variant::for_detectors() const {
  Variant variant = *this;
  variant.detectors = true;
  return variant;
}

ResNet::ResNet(const ConfigNode& cfg, const Variant& variant)
    : zero_init_residual_(cfg.get("zero_init_residual", true)),
      norm_eval_(cfg.get("norm_eval", true)),
      frozen_stages_(cfg.get("frozen_stages", int64_t{-1}, at_least(-1))) {
  ResBlockSpec spec;
  spec.base_channels = cfg.get("base_channels", int64_t{64}, positive());
  spec.groups = variant.groups;
  spec.base_width = variant.base_width;
  spec.caffe_style = cfg.choice("style", "pytorch", {"pytorch", "caffe"}) == "caffe";
  spec.avg_down = variant.avg_down;
  spec.with_cp = cfg.get("with_cp", false);
  spec.conv_cfg = cfg.find("conv_cfg");
  spec.norm_cfg = cfg.find("norm_cfg");

  const int64_t stem_channels = cfg.get("stem_channels", spec.base_channels, positive());
  add_stem(cfg, variant.deep_stem, cfg.get("in_channels", int64_t{3}, positive()), stem_channels);
  spec.in_channels = stem_channels;
  add_stages(cfg, spec, variant.detectors);
  freeze_stages(/*gradients_too=*/true);
  ResNet::train();
}

void ResNet::add_stages(const ConfigNode& cfg, ResBlockSpec spec, bool detectors) {
  const ResNetDepth depth = read_resnet_depth(cfg);
  const int64_t num_stages = static_cast<int64_t>(cfg.get("num_stages", 4, between(1, 4)));
  const auto strides = read_per_stage(cfg, "strides", {1, 2, 2, 2}, num_stages);
  const auto dilations = read_per_stage(cfg, "dilations", {1, 1, 1, 1}, num_stages);
  out_indices_ = read_out_indices(cfg, num_stages);
  if (frozen_stages_ > num_stages) {
    cfg["frozen_stages"].fail(str_cat("frozen_stages ", frozen_stages_, " of ", num_stages, " stages"));
  }
  const StageConv dcn(cfg, "dcn", {"DCN", "DCNv2"}, depth.bottleneck, num_stages);
  const StageConv sac(detectors ? cfg : ConfigNode(), "sac", {"SAC"}, depth.bottleneck, num_stages);
  const int64_t rfp_inplanes = detectors ? cfg.get("rfp_inplanes", int64_t{0}, non_negative()) : 0;
  spec.fallback_on_stride = dcn.flag("fallback_on_stride");
  for (int64_t i = 0; i < num_stages; ++i) {
    spec.planes = spec.base_channels << i;
    spec.dilation = dilations[i];
    spec.plugins = read_plugins(cfg, depth.bottleneck, i, num_stages);
    const bool switchable = !sac.of(i).is_null();
    spec.conv2_cfg = switchable ? sac.of(i) : dcn.of(i);
    spec.stride = strides[i];
    spec.rfp_inplanes = i > 0 ? rfp_inplanes : 0;
    stages_.push_back(add_child(str_cat("layer", i + 1), make_resnet_stage(depth, depth.blocks[i], spec)));
    spec.in_channels = spec.planes * depth.expansion();
  }
}

// One 7x7 convolution, or ResNet-C's three 3x3 ones, whose children have torch's Sequential numbers (the
// activations count too).
void ResNet::add_stem(const ConfigNode& cfg, bool deep, int64_t in_channels, int64_t stem_channels) {
  const ConfigNode conv_cfg = cfg.find("conv_cfg");
  const ConfigNode norm_cfg = cfg.find("norm_cfg");
  if (!deep) {
    NamedNorm norm = build_norm_layer(norm_cfg, stem_channels, "1");
    stem_convs_.push_back(add_child("conv1", build_conv_layer(conv_cfg, in_channels, stem_channels, 7,
                                                              Conv2dParams::square(2, 3), /*bias=*/false)));
    stem_norms_.push_back(add_child(norm.name, std::move(norm.layer)));
    return;
  }
  struct Sequential final : Module {
    using Module::add_child;
  };
  Sequential* sequential = add_child("stem", std::make_unique<Sequential>());
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t channels = i == 2 ? stem_channels : stem_channels / 2;
    const Conv2dParams params = Conv2dParams::square(/*stride=*/i == 0 ? 2 : 1, /*padding=*/1);
    stem_convs_.push_back(sequential->add_child(
        std::to_string(3 * i), build_conv_layer(conv_cfg, in_channels, channels, 3, params, /*bias=*/false)));
    stem_norms_.push_back(
        sequential->add_child(std::to_string(3 * i + 1), build_norm_layer(norm_cfg, channels).layer));
    in_channels = channels;
  }
}

Variable ResNet::stem(const Variable& img) const {
  Variable x = img;
  for (size_t i = 0; i < stem_convs_.size(); ++i)
    x = stem_norms_[i]->forward_relu(stem_convs_[i]->forward(x));
  const ModuleScope scope(path());
  return max_pool2d(x, {.kernel = 3, .stride = 2, .padding = 1});
}

Variables ResNet::forward(const Variable& img) const { return run_stages(img, {}); }

Variables ResNet::run_stages(const Variable& img, const Variables& rfp_feats) const {
  OSPREY_REQUIRE(rfp_feats.empty() || rfp_feats.size() >= stages_.size(), "ResNet: ", rfp_feats.size(),
                 " recursive features for ", stages_.size(), " stages");
  Variables stage_outs;
  Variable x = stem(img);
  for (size_t i = 0; i < stages_.size(); ++i) {
    const Variable rfp_feat = i > 0 && !rfp_feats.empty() ? rfp_feats[i] : Variable();
    for (const ResidualBlock* block : *stages_[i]) x = block->forward(x, rfp_feat);
    stage_outs.push_back(x);
  }
  Variables outs;
  for (const int64_t index : out_indices_) outs.push_back(stage_outs[index]);
  return outs;
}

// A plugin, and a convolution's own parts (offsets, contexts, the switch), keep what they start with.
void ResNet::init_weights(uint64_t seed) {
  Module::init_weights(seed);
  std::string skipped;  // what is below this
  for (const auto& [name, module] : named_modules()) {
    const bool inside = !skipped.empty() && starts_with(name, skipped);
    auto* conv = dynamic_cast<ConvLayer*>(module);
    if (conv && !inside) kaiming_init(*conv, seed);
    if (!inside && (conv || dynamic_cast<PluginLayer*>(module))) skipped = name + ".";
    auto* block = dynamic_cast<ResidualBlock*>(module);
    if (block && zero_init_residual_) fill_constant(block->last_norm().weight(), 0);
  }
  for (const Stage* stage : stages_) {
    for (const ResidualBlock* block : *stage) {
      if (block->rfp_conv()) constant_init(*block->rfp_conv(), 0);
    }
  }
}

// Frozen modules stay in eval mode and without gradient whatever mode the detector is in.
void ResNet::freeze_stages(bool gradients_too) {
  const auto freeze = [&](Module& module) {
    module.train(false);
    if (gradients_too) module.set_requires_grad(false);
  };
  if (frozen_stages_ < 0) return;
  for (ConvLayer* conv : stem_convs_) freeze(*conv);
  for (NormLayer* norm : stem_norms_) freeze(*norm);
  for (int64_t i = 0; i < frozen_stages_; ++i) freeze(*stages_[i]);
}

void ResNet::train(bool on) {
  Backbone::train(on);
  freeze_stages(/*gradients_too=*/false);
  if (!on || !norm_eval_) return;
  for (const auto& [name, module] : named_modules()) {
    if (auto* norm = dynamic_cast<BatchNorm2d*>(module)) norm->train(false);
  }
}

OSPREY_REGISTER(Backbone, ResNet);

}  // namespace osprey
