#include "core/backend/cuda/dispatch.h"
#include "core/backend/cuda/launch.cuh"
#include "core/ops/reflect_pad_kernel.h"

namespace osprey {
namespace {

int64_t pixels(const Tensor& map) { return map.dim(0) * map.dim(1) * map.dim(2); }

void reflect_pad_cuda(const Tensor& x, const ReflectShape& s, Tensor& out) {
  dispatch_cuda(x.dtype(), "reflect_pad2d", [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_rows_cuda(x.device(), pixels(out), s.channels,
                       ReflectPad<T>{s, x.data<T>(), out.mutable_data<T>()});
  });
}

void reflect_pad_backward_cuda(const Tensor& grad_out, const ReflectShape& s, Tensor& grad_x) {
  dispatch_cuda(grad_out.dtype(), "reflect_pad2d backward", [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_rows_cuda(grad_out.device(), pixels(grad_x), s.channels,
                       ReflectPadGrad<T, kCudaLanes>{s, grad_out.data<T>(), grad_x.mutable_data<T>()});
  });
}

OSPREY_REGISTER_KERNEL(reflect_pad_kernel, DeviceType::kCUDA, reflect_pad_cuda);
OSPREY_REGISTER_KERNEL(reflect_pad_backward_kernel, DeviceType::kCUDA, reflect_pad_backward_cuda);

}  // namespace
}  // namespace osprey
