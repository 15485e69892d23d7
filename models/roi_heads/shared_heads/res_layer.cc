#include "models/roi_heads/shared_heads/res_layer.h"

#include "core/nn/batch_norm2d.h"
#include "core/nn/init.h"

namespace osprey {

ResLayer::ResLayer(const ConfigNode& cfg) : norm_eval_(cfg.get("norm_eval", true)) {
  const ResNetDepth depth = read_resnet_depth(cfg);
  const auto stage = static_cast<int64_t>(cfg.get("stage", 3, between(1, 3)));
  ResBlockSpec spec;
  spec.base_channels = cfg.get("base_channels", int64_t{64}, positive());
  spec.planes = spec.base_channels << stage;
  spec.in_channels = spec.planes / 2 * depth.expansion();
  spec.stride = cfg.get("stride", int64_t{2}, positive());
  spec.dilation = cfg.get("dilation", int64_t{1}, positive());
  spec.caffe_style = cfg.choice("style", "pytorch", {"pytorch", "caffe"}) == "caffe";
  spec.with_cp = cfg.get("with_cp", false);
  spec.norm_cfg = cfg.find("norm_cfg");
  spec.conv2_cfg = cfg.find("dcn");
  if (!spec.conv2_cfg.is_null() && !depth.bottleneck)
    spec.conv2_cfg.fail("needs bottlenecks: depth 50, 101 or 152");
  name_ = str_cat("layer", stage + 1);
  layer_ = add_child(name_, make_resnet_stage(depth, depth.blocks[stage], spec));
  ResLayer::train();
}

Variable ResLayer::forward(const Variable& roi_feats) const {
  Variable x = roi_feats;
  for (const ResidualBlock* block : *layer_) x = block->forward(x);
  return x;
}

void ResLayer::init_weights(uint64_t seed) {
  SharedHead::init_weights(seed);
  for (const auto& [name, module] : named_modules()) {
    if (auto* conv = dynamic_cast<Conv2d*>(module)) kaiming_init(*conv, seed);
  }
}

void ResLayer::train(bool on) {
  SharedHead::train(on);
  if (!on || !norm_eval_) return;
  for (const auto& [name, module] : named_modules()) {
    if (auto* norm = dynamic_cast<BatchNorm2d*>(module)) norm->train(false);
  }
}

OSPREY_REGISTER(SharedHead, ResLayer);

}  // namespace osprey
