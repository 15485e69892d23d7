#include "core/nn/modulated_deform_conv2d_pack.h"

#include "core/ops/channel_ops.h"
#include "core/ops/elementwise.h"

namespace osprey {

ModulatedDeformConv2dPack::ModulatedDeformConv2dPack(const ConfigNode& conv_cfg, int64_t in_channels,
                                                     int64_t out_channels, int64_t kernel_size,
                                                     const Conv2dParams& params, bool bias)
    : DeformLayer(conv_cfg, in_channels, out_channels, kernel_size, params, bias, /*values_per_tap=*/3) {}

// Channels of conv_offset: 2 samples() offsets, then samples() mask logits.
Variable ModulatedDeformConv2dPack::forward(const Variable& x) const {
  const ModuleScope scope(path());
  const Variable seen = look(x);
  const Variable offset = slice_channels(seen, 0, 2 * samples());
  const Variable mask = sigmoid(slice_channels(seen, 2 * samples(), 3 * samples()));
  return modulated_deform_conv2d(x, offset, mask, weight(), bias_variable(), params_);
}

}  // namespace osprey
