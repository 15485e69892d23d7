#pragma once

#include "core/autograd/variable.h"

namespace osprey {

struct Conv2dParams {
  int64_t stride_h = 1, stride_w = 1;
  int64_t pad_h = 0, pad_w = 0;
  int64_t dilation_h = 1, dilation_w = 1;
  int64_t groups = 1;
  int64_t output_pad_h = 0, output_pad_w = 0;  // conv_transpose2d: rows and columns added at the far end
  bool relu = false;                           // the result is relu(...) of the sum, in the same pass

  static Conv2dParams square(int64_t stride, int64_t padding, int64_t dilation = 1, int64_t groups = 1) {
    return {stride, stride, padding, padding, dilation, dilation, groups, 0, 0, false};
  }
  Conv2dParams with_relu(bool wanted = true) const {
    Conv2dParams params = *this;
    params.relu = wanted;
    return params;
  }
};

// Extent of a convolution's output along one axis: floor((in + 2 pad - dilation (kernel - 1) - 1) / stride)
// + 1.
int64_t conv_out_extent(int64_t in, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation);

// 2-D convolution. x (n, h, w, ci), weight (co, kh, kw, ci / groups), bias (co) or undefined.
// Returns (n, oh, ow, co) in the weight's dtype; x is cast to it. Accumulates in f32 for the halves.
// Throws Error for shapes that do not fit. n = 0 gives an empty result and zero gradients.
Variable conv2d(const Variable& x, const Variable& weight, const Variable& bias, const Conv2dParams& params);

// Transposed convolution. x (n, h, w, ci), weight (ci, kh, kw, co / groups), bias (co) or undefined.
// Returns (n, (h-1) stride - 2 pad + dilation (kh-1) + output_pad + 1, ..., co), as torch.nn.ConvTranspose2d.
Variable conv_transpose2d(const Variable& x, const Variable& weight, const Variable& bias,
                          const Conv2dParams& params);

}  // namespace osprey
