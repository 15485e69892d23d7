#pragma once

#include "core/config/config.h"
#include "core/nn/conv2d.h"
#include "core/nn/conv_aws2d.h"

namespace osprey {

// `type: SAC`, switchable atrous convolution of DetectoRS (Qiao et al., section 4, Fig. 4):
//
//   x --+ pre_context --> 5x5 average --> switch s
//       |-> conv(dilation, w) ---------------- s ------+--> + post_context
//       '-> conv(3 dilation, w + weight_diff) - 1 - s -'
//
// w is the standardised weight of ConvAWS2d, a context the image's mean through a 1x1 convolution. The switch
// is linear, as in mmcv. use_deform: both convolutions are deformable, their offsets (offset_s, offset_l)
// seen in the averaged map. It starts as the plain convolution with its weight: switch 1, all else 0. A bias
// is held but not used, as in mmcv.
class SAConv2d final : public ConvAWS2d {
 public:
  SAConv2d(const ConfigNode& conv_cfg, int64_t in_channels, int64_t out_channels, int64_t kernel_size,
           const Conv2dParams& params, bool bias);
  Variable forward(const Variable& x) const override;
  void init_weights(uint64_t seed) override;

 private:
  Variable convolve(const Variable& x, const Variable& weight, const Variable& around, const Conv2d* offset,
                    const Conv2dParams& params) const;

  Parameter* weight_diff_;
  Conv2d *switch_, *pre_context_, *post_context_;
  Conv2d *offset_s_ = nullptr, *offset_l_ = nullptr;  // only with use_deform
};

}  // namespace osprey
