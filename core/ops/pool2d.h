#pragma once

#include "core/autograd/variable.h"

namespace osprey {

struct Pool2dParams {
  int64_t kernel = 2, stride = 2, padding = 0;
  bool ceil_mode = false;         // as torch: a window that would start in the right padding is dropped
  bool count_include_pad = true;  // average pooling only
};

// x (n, h, w, c) -> (n, oh, ow, c). Padding never wins a maximum; the first of equal values gets the
// gradient.
Variable max_pool2d(const Variable& x, const Pool2dParams& params);
Variable avg_pool2d(const Variable& x, const Pool2dParams& params);
// Bin i covers [floor(i h / oh), ceil((i + 1) h / oh)), as torch.nn.AdaptiveAvgPool2d.
Variable adaptive_avg_pool2d(const Variable& x, int64_t out_h, int64_t out_w);

}  // namespace osprey
