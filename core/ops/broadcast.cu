#include "core/backend/cuda/dispatch.h"
#include "core/backend/cuda/launch.cuh"
#include "core/backend/cuda/row_sums.cuh"
#include "core/ops/broadcast_kernel.h"

namespace osprey {
namespace {

// Workers that share a pixel's sum: enough for loads of whole sectors, few partial sums.
constexpr int kLanes = 16;

void add_per_image_cuda(const Tensor& x, const Tensor& v, double scale, Tensor& out) {
  const int64_t channels = out.dim(3), pixels = out.dim(1) * out.dim(2);
  dispatch_cuda(out.dtype(), "add_per_image", [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_rows_cuda(out.device(), out.dim(0) * pixels, channels,
                       AddPerImage<T>{x.defined() ? x.data<T>() : nullptr, v.data<T>(),
                                      static_cast<float>(scale), pixels, channels, out.mutable_data<T>()});
  });
}

void blend_cuda(const Tensor& a, const Tensor& b, const Tensor& gate, Tensor& out) {
  dispatch_cuda(out.dtype(), "blend", [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_rows_cuda(out.device(), gate.numel(), out.dim(3),
                       Blend<T>{a.data<T>(), b.data<T>(), gate.data<T>(), out.dim(3), out.mutable_data<T>()});
  });
}

void blend_backward_cuda(const Tensor& grad_out, const Tensor& a, const Tensor& b, const Tensor& gate,
                         Tensor& grad_a, Tensor& grad_b, Tensor& grad_gate) {
  dispatch_cuda(a.dtype(), "blend backward", [&](auto tag) {
    using T = typename decltype(tag)::type;
    sum_rows_cuda<1, kLanes>(a.device(), gate.numel(),
                             BlendGrad<T, kLanes>{grad_out.data<T>(), a.data<T>(), b.data<T>(),
                                                  gate.data<T>(), a.dim(3), grad_a.mutable_data<T>(),
                                                  grad_b.mutable_data<T>(), grad_gate.mutable_data<float>()});
  });
}

OSPREY_REGISTER_KERNEL(add_per_image_kernel, DeviceType::kCUDA, add_per_image_cuda);
OSPREY_REGISTER_KERNEL(blend_kernel, DeviceType::kCUDA, blend_cuda);
OSPREY_REGISTER_KERNEL(blend_backward_kernel, DeviceType::kCUDA, blend_backward_cuda);

}  // namespace
}  // namespace osprey
