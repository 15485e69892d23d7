#pragma once

#include "models/backbones/resnet_stage.h"
#include "models/roi_heads/shared_heads/shared_head.h"

namespace osprey {

// One stage of a ResNet on the features of RoIs: the last one, in the C4 detectors of Ren et al., "Faster
// R-CNN". Keys: depth, stage (3, counted from 0), stride (2), dilation (1), style, norm_cfg, norm_eval
// (true), with_cp, dcn; base_channels (64).
class ResLayer final : public SharedHead {
 public:
  explicit ResLayer(const ConfigNode& cfg);
  Variable forward(const Variable& roi_feats) const override;
  std::pair<std::string, Module*> pretrained_part() override { return {name_, layer_}; }
  void init_weights(uint64_t seed) override;
  void train(bool on = true) override;

 private:
  bool norm_eval_;
  std::string name_;  // "layer4"
  ModuleList<ResidualBlock>* layer_;
};

}  // namespace osprey
