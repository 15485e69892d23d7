#pragma once

#include "core/nn/conv_module.h"
#include "models/backbones/res_block.h"
#include "models/roi_heads/bbox_heads/bbox_head.h"

namespace osprey {

// Wu et al., "Rethinking Classification and Localization for Object Detection", Fig. 1d: linear layers
// classify, convolutions regress.
//
//   cls feature -> fc_branch -> fc_cls
//   reg feature -> res_block -> conv_branch (bottlenecks) -> average -> fc_reg
//
// Keys of BBoxHead, and num_convs, num_fcs (> 0), conv_out_channels (1024), fc_out_channels (1024), conv_cfg,
// norm_cfg (BN). with_avg_pool is always true.
class DoubleConvFCBBoxHead final : public BBoxHead {
 public:
  explicit DoubleConvFCBBoxHead(const ConfigNode& cfg);
  Predictions forward(const Variable& roi_feats) const override { return forward(roi_feats, roi_feats); }
  // Both (n, roi_feat_size, roi_feat_size, in_channels): of the RoI, and of the larger one that regression
  // looks at.
  Predictions forward(const Variable& cls_feats, const Variable& reg_feats) const;
  void init_weights(uint64_t seed) override;

 private:
  class BasicResBlock;
  BasicResBlock* res_block_;  // widens the map
  ModuleList<Bottleneck>* conv_branch_;
  ModuleList<Linear>* fc_branch_;
};

}  // namespace osprey
