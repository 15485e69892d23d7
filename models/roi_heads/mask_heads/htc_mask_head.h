#pragma once

#include "models/roi_heads/mask_heads/fcn_mask_head.h"

namespace osprey {

// Chen et al., "Hybrid Task Cascade", eq. (7): the features of the previous stage's mask head, through a 1x1
// convolution, join those of this stage. Keys of FCNMaskHead, and with_conv_res (true; false for the first
// stage, which has no predecessor).
//
//   roi_feats ---(+)--> convs --+--> upsample -> conv_logits   (mask_pred)
//                 ^             +--------------------------->  to the next stage (its last_feat)
//   last_feat -> conv_res
class HTCMaskHead final : public FCNMaskHead {
 public:
  explicit HTCMaskHead(const ConfigNode& cfg);

  // last_feat: the previous stage's forward_features, or undefined. (n, s, s, conv_out_channels).
  Variable forward_features(const Variable& roi_feats, const Variable& last_feat) const;
  // Logits f32 (n, m, m, classes) from forward_features.
  Variable forward_logits(const Variable& features) const;

 private:
  ConvModule* conv_res_ = nullptr;
};

}  // namespace osprey
