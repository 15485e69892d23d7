#pragma once

#include "core/nn/conv2d.h"
#include "core/nn/conv_module.h"
#include "core/nn/conv_transpose2d.h"
#include "models/roi_heads/mask_heads/mask_head.h"

namespace osprey {

// He et al., "Mask R-CNN", Fig. 4 right: num_convs convolutions, an upsampling, a 1x1 convolution per class.
// Keys: num_convs (4), in_channels (256), conv_kernel_size (3), conv_out_channels (256), num_classes,
// class_agnostic, upsample_cfg {type: deconv | nearest | bilinear | null, scale_factor: 2}, conv_cfg,
// norm_cfg, loss_mask.
class FCNMaskHead : public MaskHead {
 public:
  explicit FCNMaskHead(const ConfigNode& cfg);
  Variable forward(const Variable& roi_feats) const override;
  void init_weights(uint64_t seed) override;

 protected:
  Variable features(const Variable& roi_feats) const;  // (n, s, s, conv_out_channels)
  Variable logits(const Variable& features) const;     // f32 (n, m, m, classes)
  int64_t conv_out_channels() const { return conv_out_channels_; }

 private:
  enum class Upsample { kNone, kDeconv, kNearest, kBilinear };
  Variable upsampled(const Variable& x) const;

  int64_t conv_out_channels_;
  Upsample upsample_method_;
  int64_t scale_factor_;
  ModuleList<ConvModule>* convs_;
  ConvTranspose2d* upsample_ = nullptr;  // with kDeconv
  Conv2d* conv_logits_;
};

}  // namespace osprey
