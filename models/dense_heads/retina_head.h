#pragma once

#include "core/nn/conv2d.h"
#include "core/nn/conv_module.h"
#include "models/dense_heads/anchor_head.h"

namespace osprey {

// Lin et al., "Focal Loss for Dense Object Detection", Fig. 3 (c) and (d): on every level of the pyramid two
// towers of the same form, one per task, shared by all levels.
//
//         /-> cls_convs (3x3, stacked_convs times) -> retina_cls  (h, w, A * classes)
//   x ---<
//         \-> reg_convs (3x3, stacked_convs times) -> retina_reg  (h, w, A * 4)
//
// Keys of AnchorHead, and num_classes, stacked_convs (4), conv_cfg, norm_cfg. Default anchors: three octaves
// of scale from 4 strides on, three ratios, P3 to P7.
class RetinaHead final : public AnchorHead {
 public:
  explicit RetinaHead(const ConfigNode& cfg);
  // The bias of retina_cls starts every anchor at probability 0.01 (section 4.1, "Initialization").
  void init_weights(uint64_t seed) override;

 private:
  std::pair<Variable, Variable> forward_single(const Variable& x) const override;

  ModuleList<ConvModule>*cls_convs_, *reg_convs_;
  Conv2d *retina_cls_, *retina_reg_;
};

}  // namespace osprey
