#pragma once

#include "core/config/config.h"
#include "core/nn/conv_module.h"
#include "models/backbones/backbone.h"
#include "models/backbones/res_block.h"

namespace osprey {

// He et al., "Deep Residual Learning for Image Recognition", as mmdetection's ResNet.
//   depth 18 | 34 | 50 | 101 | 152; in_channels, base_channels, stem_channels; num_stages, strides,
//   dilations, out_indices; style pytorch | caffe; deep_stem, avg_down; conv_cfg, norm_cfg; with_cp;
//   zero_init_residual;
//   frozen_stages: -1 none; k >= 0: the stem and stages 1..k get no gradient and keep their statistics;
//   norm_eval: BN uses its stored statistics in training too;
//   dcn {type: DCN | DCNv2, deform_groups, fallback_on_stride} with stage_with_dcn, a flag a stage: the 3x3
//     convolutions of its bottlenecks are deformable, with fallback_on_stride all but those with a stride;
//   plugins, a list of {cfg, stages, position: after_conv1 | after_conv2 | after_conv3}: layers of
//     models/plugins behind that convolution in every bottleneck of the flagged stages.
class ResNet : public Backbone {
 public:
  explicit ResNet(const ConfigNode& cfg) : ResNet(cfg, Variant::from(cfg)) {}

  // img (n, h, w, in_channels) -> maps of strides 4, 8, 16, 32 (with the default strides).
  Variables forward(const Variable& img) const override;
  void init_weights(uint64_t seed) override;
  void train(bool on = true) override;

 protected:
  // What the members of the family differ in.
  struct Variant {
    bool deep_stem = false, avg_down = false;
    int64_t groups = 1, base_width = 4;
    bool detectors = false;  // sac, stage_with_sac, rfp_inplanes: see detectors_resnet.h
    static Variant from(const ConfigNode& cfg);
    Variant for_detectors() const;
  };
  ResNet(const ConfigNode& cfg, const Variant& variant);

  // rfp_feats: empty, or one map for each stage beside its output; the first is not used.
  Variables run_stages(const Variable& img, const Variables& rfp_feats) const;

 private:
  using Stage = ModuleList<ResidualBlock>;

  void add_stages(const ConfigNode& cfg, ResBlockSpec spec, bool detectors);
  void add_stem(const ConfigNode& cfg, bool deep, int64_t in_channels, int64_t stem_channels);
  Variable stem(const Variable& img) const;
  void freeze_stages(bool gradients_too);

  bool zero_init_residual_, norm_eval_;
  int64_t frozen_stages_;
  std::vector<int64_t> out_indices_;
  std::vector<ConvLayer*> stem_convs_;  // one 7x7, or three 3x3
  std::vector<NormLayer*> stem_norms_;
  std::vector<Stage*> stages_;
};

}  // namespace osprey
