#pragma once

#include "core/nn/deform_conv2d_pack.h"

namespace osprey {

// `type: DCNv2`, Zhu et al., "Deformable ConvNets v2": conv_offset also yields a mask, through a sigmoid.
class ModulatedDeformConv2dPack final : public DeformLayer {
 public:
  ModulatedDeformConv2dPack(const ConfigNode& conv_cfg, int64_t in_channels, int64_t out_channels,
                            int64_t kernel_size, const Conv2dParams& params, bool bias);
  Variable forward(const Variable& x) const override;
};

}  // namespace osprey
