#pragma once

#include "core/config/config.h"
#include "core/nn/conv2d.h"
#include "core/nn/derived_state.h"
#include "core/ops/deform_conv2d.h"

namespace osprey {

// What mmcv's two deformable layers share: child "conv_offset", a convolution of the same window that looks
// where the samples should be; it starts at 0, i.e. at the regular grid. Files of mmdetection 1 call it
// "<layer>_offset" beside the layer; they load.
class DeformLayer : public ConvLayer, public StateUpgrade {
 public:
  void init_weights(uint64_t seed) override;
  void upgrade_state(const std::string& prefix, StateDict& state) const override;

 protected:
  // values_per_tap: channels of conv_offset for one tap of one deform group. Of conv_cfg it reads
  // deform_groups (1).
  DeformLayer(const ConfigNode& conv_cfg, int64_t in_channels, int64_t out_channels, int64_t kernel_size,
              const Conv2dParams& params, bool bias, int64_t values_per_tap);
  // conv_offset's answer to x, after checking x.
  Variable look(const Variable& x) const;
  int64_t samples() const;  // taps of all deform groups

  DeformConv2dParams params_;

 private:
  Conv2d* conv_offset_;
};

// `type: DCN`, Dai et al., "Deformable Convolutional Networks". Without a bias, as mmcv.
class DeformConv2dPack final : public DeformLayer {
 public:
  DeformConv2dPack(const ConfigNode& conv_cfg, int64_t in_channels, int64_t out_channels, int64_t kernel_size,
                   const Conv2dParams& params, bool bias);
  Variable forward(const Variable& x) const override;
};

}  // namespace osprey
