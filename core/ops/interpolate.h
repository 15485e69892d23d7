#pragma once

#include "core/autograd/variable.h"

namespace osprey {

// x (n, h, w, c) -> (n, out_h, out_w, c).
// Nearest: source index floor(i * h / out_h), as torch.nn.functional.interpolate(mode='nearest') with a size.
Variable upsample_nearest(const Variable& x, int64_t out_h, int64_t out_w);
// Bilinear; align_corners maps corner pixel centres onto each other, otherwise pixel areas.
Variable upsample_bilinear(const Variable& x, int64_t out_h, int64_t out_w, bool align_corners);

}  // namespace osprey
