#include "models/dense_heads/retina_head.h"

#include <cmath>

#include "core/nn/init.h"
#include "models/find_or.h"

namespace osprey {
namespace {

constexpr char kAnchorGenerator[] =
    "{type: AnchorGenerator, octave_base_scale: 4, scales_per_octave: 3, ratios: [0.5, 1.0, 2.0], "
    "strides: [8, 16, 32, 64, 128]}";
constexpr double kPrior = 0.01;

ConfigNode with_anchors(const ConfigNode& cfg) {
  return cfg.with("anchor_generator", find_or(cfg, "anchor_generator", kAnchorGenerator));
}

}  // namespace

RetinaHead::RetinaHead(const ConfigNode& cfg)
    : AnchorHead(with_anchors(cfg), cfg.get<int64_t>("num_classes", positive()), Role::kFindsObjects),
      cls_convs_(add_child("cls_convs", std::make_unique<ModuleList<ConvModule>>())),
      reg_convs_(add_child("reg_convs", std::make_unique<ModuleList<ConvModule>>())) {
  const ConvModuleCfg conv = ConvModuleCfg::from(cfg);
  const int64_t stacked_convs = cfg.get("stacked_convs", int64_t{4}, non_negative());
  int64_t channels = in_channels_;
  for (int64_t i = 0; i < stacked_convs; ++i) {
    for (ModuleList<ConvModule>* tower : {cls_convs_, reg_convs_}) {
      tower->append(
          std::make_unique<ConvModule>(channels, feat_channels_, 3, Conv2dParams::square(1, 1), conv));
    }
    channels = feat_channels_;
  }
  const auto output = [&](int64_t per_anchor) {
    return std::make_unique<Conv2d>(channels, num_anchors_ * per_anchor, 3, Conv2dParams::square(1, 1));
  };
  retina_cls_ = add_child("retina_cls", output(cls_out_channels_));
  retina_reg_ = add_child("retina_reg", output(4));
}

void RetinaHead::init_weights(uint64_t seed) {
  Module::init_weights(seed);
  for (ModuleList<ConvModule>* tower : {cls_convs_, reg_convs_}) {
    for (ConvModule* conv : *tower) normal_init(conv->conv(), seed, 0.01);
  }
  normal_init(*retina_cls_, seed, 0.01);
  normal_init(*retina_reg_, seed, 0.01);
  fill_constant(*retina_cls_->bias(), -std::log((1 - kPrior) / kPrior));
}

std::pair<Variable, Variable> RetinaHead::forward_single(const Variable& x) const {
  return {retina_cls_->forward(forward_through(*cls_convs_, x)),
          retina_reg_->forward(forward_through(*reg_convs_, x))};
}

OSPREY_REGISTER(DenseHead, RetinaHead);

}  // namespace osprey
