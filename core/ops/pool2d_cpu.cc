#include "core/backend/cpu/launch.h"
#include "core/ops/pool2d_kernel.h"

namespace osprey {
namespace {

int64_t out_pixels(const Pool2dShape& s) { return s.n * s.y.out * s.x.out; }
int64_t in_pixels(const Pool2dShape& s) { return s.n * s.y.in * s.x.in; }

void max_pool2d_cpu(const Tensor& x, const Pool2dShape& s, Tensor& y, Tensor& index) {
  dispatch_floating(x.dtype(), "max_pool2d", [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_rows_cpu(
        out_pixels(s), s.channels,
        MaxPoolForward<T, kCpuLanes>{s, x.data<T>(), y.mutable_data<T>(), index.mutable_data<int32_t>()});
  });
}

void max_pool2d_backward_cpu(const Tensor& grad_y, const Tensor& index, const Pool2dShape& s,
                             Tensor& grad_x) {
  dispatch_floating(grad_y.dtype(), "max_pool2d", [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_rows_cpu(
        in_pixels(s), s.channels,
        MaxPoolBackward<T, kCpuLanes>{s, grad_y.data<T>(), index.data<int32_t>(), grad_x.mutable_data<T>()});
  });
}

void avg_pool2d_cpu(const Tensor& x, const Pool2dShape& s, Tensor& y) {
  dispatch_floating(x.dtype(), "avg_pool2d", [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_rows_cpu(out_pixels(s), s.channels,
                      AveragePoolForward<T, kCpuLanes>{s, x.data<T>(), y.mutable_data<T>()});
  });
}

void avg_pool2d_backward_cpu(const Tensor& grad_y, const Pool2dShape& s, Tensor& grad_x) {
  dispatch_floating(grad_y.dtype(), "avg_pool2d", [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_rows_cpu(in_pixels(s), s.channels,
                      AveragePoolBackward<T, kCpuLanes>{s, grad_y.data<T>(), grad_x.mutable_data<T>()});
  });
}

OSPREY_REGISTER_KERNEL(max_pool2d_kernel, DeviceType::kCPU, max_pool2d_cpu);
OSPREY_REGISTER_KERNEL(max_pool2d_backward_kernel, DeviceType::kCPU, max_pool2d_backward_cpu);
OSPREY_REGISTER_KERNEL(avg_pool2d_kernel, DeviceType::kCPU, avg_pool2d_cpu);
OSPREY_REGISTER_KERNEL(avg_pool2d_backward_kernel, DeviceType::kCPU, avg_pool2d_backward_cpu);

}  // namespace
}  // namespace osprey
