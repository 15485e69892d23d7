#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "core/ops/conv2d.h"
#include "core/tensor/device_kernel.h"

// What a backend implements for convolutions: conv2d_cpu.cc for the CPU, conv2d_cudnn.cc for CUDA. Outputs
// arrive allocated and uninitialised; no tensor is empty; weight and maps agree in dtype. Halves accumulate
// in f32 and round once.
namespace osprey {

// Extents of a convolution. A transposed convolution is described by the convolution whose adjoint it is:
// its output is that one's input.
struct Conv2dShape {
  int64_t n, h, w, ci;  // input
  int64_t oh, ow, co;   // output
  int64_t kh, kw;
  Conv2dParams params;

  // input (n, h, w, ci), weight (co, kh, kw, ci / groups), output (n, oh, ow, co).
  static Conv2dShape of(const Shape& input, const Shape& weight, const Shape& output,
                        const Conv2dParams& params);
  std::string describe() const;
  // The key of what a backend keeps for this shape: all of the above, then what else it depends on.
  std::vector<int64_t> key(std::initializer_list<int64_t> also) const;
};

// y = x * weight + bias, cut off below 0 with params.relu. bias (co) or undefined.
extern DeviceKernel<void(const Tensor& x, const Tensor& weight, const Tensor& bias,
                         const Conv2dParams& params, Tensor& y)>
    conv2d_forward_kernel;

// The adjoint in x: grad_x = weight^T * grad_y (+ bias over grad_x's channels, and relu, for transposed
// convolution).
extern DeviceKernel<void(const Tensor& grad_y, const Tensor& weight, const Tensor& bias,
                         const Conv2dParams& params, Tensor& grad_x)>
    conv2d_backward_data_kernel;

// Both gradients of the forward (of its sum: a relu is the caller's) in one call, so that a backend prepares
// grad_y once. A null output is not wanted.
extern DeviceKernel<void(const Tensor& x, const Tensor& weight, const Tensor& grad_y,
                         const Conv2dParams& params, Tensor* grad_x, Tensor* grad_weight)>
    conv2d_backward_kernel;

}  // namespace osprey
