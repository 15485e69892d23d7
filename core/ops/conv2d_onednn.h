#pragma once

#include "core/ops/conv2d_kernel.h"

namespace osprey {

// Convolution through oneDNN. Maps and weight are f32 or bf16; a weight of f16 is taken with f32 maps, and
// widened once per version. bias: any floating dtype, or undefined.
void conv2d_forward_onednn(const Tensor& x, const Tensor& weight, const Tensor& bias,
                           const Conv2dShape& shape, Tensor& y);
// grad_x may be f32 beside bf16 inputs.
void conv2d_backward_data_onednn(const Tensor& grad_y, const Tensor& weight, const Conv2dShape& shape,
                                 Tensor& grad_x);
void conv2d_backward_weight_onednn(const Tensor& x, const Tensor& grad_y, const Conv2dShape& shape,
                                   Tensor& grad_weight);

}  // namespace osprey
