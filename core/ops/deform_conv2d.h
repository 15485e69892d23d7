#pragma once

#include "core/ops/conv2d.h"

namespace osprey {

struct DeformConv2dParams {
  Conv2dParams conv;          // without output padding
  int64_t deform_groups = 1;  // input channels in this many parts, each with offsets of its own
};

// Dai et al., "Deformable Convolutional Networks", eq. (2): every tap of every window looks where an offset
// moves it, between the pixels by bilinear interpolation, zero off the map.
// x (n, h, w, ci), weight (co, kh, kw, ci / groups), offset (n, oh, ow, deform_groups * kh * kw * 2) in
// pixels: (dy, dx) of tap k of part g at channel 2 (g kh kw + k). Returns (n, oh, ow, co) in the weight's
// dtype; x is cast to it, positions are f32. Accumulates in f32 for the halves.
// As in mmcv a sample at exactly -1 or exactly h (w) is off the map: no gradient by its offset. A non-finite
// offset gives NaN, so that a diverged layer does not go on with zeros. n = 0 gives an empty result and zero
// gradients. Throws Error for shapes that do not fit.
Variable deform_conv2d(const Variable& x, const Variable& offset, const Variable& weight,
                       const DeformConv2dParams& params);

// Zhu et al., "Deformable ConvNets v2", eq. (1): each sample is multiplied with mask (n, oh, ow,
// deform_groups * kh * kw), usually a sigmoid. bias (co) or undefined.
Variable modulated_deform_conv2d(const Variable& x, const Variable& offset, const Variable& mask,
                                 const Variable& weight, const Variable& bias,
                                 const DeformConv2dParams& params);

}  // namespace osprey
