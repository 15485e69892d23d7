#include <algorithm>

#include "core/backend/cpu/map_cpu.h"
#include "core/base/parallel.h"
#include "core/ops/conv2d_f64.h"
#include "core/ops/conv2d_onednn.h"
#include "core/ops/elementwise_kernel.h"

// Convolution on the CPU by dtype: f64 by plain loops, f32 and bf16 through oneDNN, f16 (which oneDNN does
// not know) by widening to f32 and rounding the result, so that overflow to inf is real.
namespace osprey {
namespace {

const double* data_or_null(const Tensor& tensor) {
  return tensor.defined() ? tensor.data<double>() : nullptr;
}

// x[..., c] += bias[c], f32.
void add_bias(Tensor& x, const Tensor& bias) {
  const Tensor bias32 = bias.to(DType::kF32);
  const float* b = bias32.data<float>();
  float* values = x.mutable_data<float>();
  const int64_t channels = bias.numel();
  parallel_ranges(x.numel() / channels, std::max<int64_t>(1, 16384 / channels),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t row = begin; row < end; ++row) {
                      for (int64_t c = 0; c < channels; ++c) values[row * channels + c] += b[c];
                    }
                  });
}

// In place. oneDNN's own relu behind a convolution would turn NaN into 0.
void relu_if_wanted(const Conv2dParams& params, Tensor& x) {
  if (params.relu) map_cpu<Relu>({x}, {}, x);
}

// f16 as f32, everything else as it is.
Tensor computable(const Tensor& tensor) {
  return tensor.dtype() == DType::kF16 ? tensor.to(DType::kF32) : tensor;
}

// Runs write(result) with `out` itself, or with f32 memory that is then rounded into it.
template <typename Write>
void write_rounded(Tensor& out, bool through_f32, const Write& write) {
  if (!through_f32) return write(out);
  Tensor wide(out.shape(), DType::kF32);
  write(wide);
  out.copy_from(wide);
}

void forward_cpu(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dParams& params,
                 Tensor& y) {
  const Conv2dShape shape = Conv2dShape::of(x.shape(), weight.shape(), y.shape(), params);
  if (x.dtype() == DType::kF64) {
    conv2d_forward_f64(x.data<double>(), weight.data<double>(), data_or_null(bias), shape,
                       y.mutable_data<double>());
    return relu_if_wanted(params, y);
  }
  write_rounded(y, y.dtype() == DType::kF16, [&](Tensor& result) {
    conv2d_forward_onednn(computable(x), weight, bias, shape, result);
    relu_if_wanted(params, result);
  });
}

// grad_y: computable. A relu is that of a transposed convolution.
void data_gradient(const Tensor& grad_y, const Tensor& weight, const Tensor& bias, const Conv2dParams& params,
                   Tensor& grad_x) {
  const Conv2dShape shape = Conv2dShape::of(grad_x.shape(), weight.shape(), grad_y.shape(), params);
  if (grad_y.dtype() == DType::kF64) {
    conv2d_backward_data_f64(grad_y.data<double>(), weight.data<double>(), data_or_null(bias), shape,
                             grad_x.mutable_data<double>());
    return relu_if_wanted(params, grad_x);
  }
  // A bias is added before bf16 rounds, too.
  const bool through_f32 = grad_x.dtype() == DType::kF16 || (bias.defined() && is_half(grad_x.dtype()));
  write_rounded(grad_x, through_f32, [&](Tensor& result) {
    conv2d_backward_data_onednn(grad_y, weight, shape, result);
    if (bias.defined()) add_bias(result, bias);
    relu_if_wanted(params, result);
  });
}

void weight_gradient(const Tensor& x, const Tensor& grad_y, const Conv2dParams& params, Tensor& grad_weight) {
  const Conv2dShape shape = Conv2dShape::of(x.shape(), grad_weight.shape(), grad_y.shape(), params);
  if (grad_y.dtype() == DType::kF64) {
    conv2d_backward_weight_f64(x.data<double>(), grad_y.data<double>(), shape,
                               grad_weight.mutable_data<double>());
    return;
  }
  write_rounded(grad_weight, grad_weight.dtype() == DType::kF16,
                [&](Tensor& result) { conv2d_backward_weight_onednn(computable(x), grad_y, shape, result); });
}

void backward_data_cpu(const Tensor& grad_y, const Tensor& weight, const Tensor& bias,
                       const Conv2dParams& params, Tensor& grad_x) {
  data_gradient(computable(grad_y), weight, bias, params, grad_x);
}

void backward_cpu(const Tensor& x, const Tensor& weight, const Tensor& grad_y, const Conv2dParams& params,
                  Tensor* grad_x, Tensor* grad_weight) {
  const Tensor computable_grad = computable(grad_y);  // f16: one widening serves both
  if (grad_x) data_gradient(computable_grad, weight, Tensor(), params.with_relu(false), *grad_x);
  if (grad_weight) weight_gradient(x, computable_grad, params, *grad_weight);
}

OSPREY_REGISTER_KERNEL(conv2d_forward_kernel, DeviceType::kCPU, forward_cpu);
OSPREY_REGISTER_KERNEL(conv2d_backward_data_kernel, DeviceType::kCPU, backward_data_cpu);
OSPREY_REGISTER_KERNEL(conv2d_backward_kernel, DeviceType::kCPU, backward_cpu);

}  // namespace
}  // namespace osprey
