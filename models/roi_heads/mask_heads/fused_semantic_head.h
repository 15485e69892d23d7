#pragma once

#include "core/nn/conv2d.h"
#include "core/nn/conv_module.h"
#include "models/roi_heads/mask_heads/semantic_head.h"

namespace osprey {

// The semantic branch of Chen et al., "Hybrid Task Cascade", Fig. 4: all levels are brought to the size of
// level `fusion_level`, summed, and convolved.
//
//   in_1 -> 1x1 conv ---
//                       |
//   in_2 -> 1x1 conv -- |
//                      ||
//   in_3 -> 1x1 conv - ||
//                      |||                  /-> 1x1 conv (mask prediction)
//   in_4 -> 1x1 conv -----> 3x3 convs (*4)
//                       |                   \-> 1x1 conv (feature)
//   in_5 -> 1x1 conv ---
//
// Keys: num_ins, fusion_level, num_convs (4), in_channels (256), conv_out_channels (256), num_classes (183),
// ignore_label (255), loss_weight (0.2), conv_cfg, norm_cfg.
class FusedSemanticHead final : public SemanticHead {
 public:
  explicit FusedSemanticHead(const ConfigNode& cfg);
  Outputs forward(const Variables& feats) const override;
  Variable loss(const Variable& mask_pred, const Tensor& labels) const override;
  void init_weights(uint64_t seed) override;
  int64_t num_classes() const override { return num_classes_; }
  int64_t ignore_label() const override { return ignore_label_; }

 private:
  Tensor checked_labels(const Tensor& labels, int64_t* counted) const;

  const size_t num_ins_, fusion_level_;
  const int64_t num_classes_, ignore_label_;
  const double loss_weight_;
  ModuleList<ConvModule>*lateral_convs_, *convs_;
  ConvModule* conv_embedding_;
  Conv2d* conv_logits_;
};

}  // namespace osprey
