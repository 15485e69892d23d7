#include "core/backend/cpu/launch.h"
#include "core/ops/reflect_pad_kernel.h"

namespace osprey {
namespace {

int64_t pixels(const Tensor& map) { return map.dim(0) * map.dim(1) * map.dim(2); }

void reflect_pad_cpu(const Tensor& x, const ReflectShape& s, Tensor& out) {
  dispatch_floating(x.dtype(), "reflect_pad2d", [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_rows_cpu(pixels(out), s.channels, ReflectPad<T>{s, x.data<T>(), out.mutable_data<T>()});
  });
}

void reflect_pad_backward_cpu(const Tensor& grad_out, const ReflectShape& s, Tensor& grad_x) {
  dispatch_floating(grad_out.dtype(), "reflect_pad2d", [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_rows_cpu(pixels(grad_x), s.channels,
                      ReflectPadGrad<T, kCpuLanes>{s, grad_out.data<T>(), grad_x.mutable_data<T>()});
  });
}

OSPREY_REGISTER_KERNEL(reflect_pad_kernel, DeviceType::kCPU, reflect_pad_cpu);
OSPREY_REGISTER_KERNEL(reflect_pad_backward_kernel, DeviceType::kCPU, reflect_pad_backward_cpu);

}  // namespace
}  // namespace osprey
