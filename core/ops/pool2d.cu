#include "core/backend/cuda/dispatch.h"
#include "core/backend/cuda/launch.cuh"
#include "core/ops/pool2d_kernel.h"

namespace osprey {
namespace {

int64_t out_pixels(const Pool2dShape& s) { return s.n * s.y.out * s.x.out; }
int64_t in_pixels(const Pool2dShape& s) { return s.n * s.y.in * s.x.in; }

void max_pool2d_cuda(const Tensor& x, const Pool2dShape& s, Tensor& y, Tensor& index) {
  dispatch_cuda(x.dtype(), "max_pool2d", [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_rows_cuda(
        x.device(), out_pixels(s), s.channels,
        MaxPoolForward<T, kCudaLanes>{s, x.data<T>(), y.mutable_data<T>(), index.mutable_data<int32_t>()});
  });
}

void max_pool2d_backward_cuda(const Tensor& grad_y, const Tensor& index, const Pool2dShape& s,
                              Tensor& grad_x) {
  dispatch_cuda(grad_y.dtype(), "max_pool2d", [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_rows_cuda(
        grad_y.device(), in_pixels(s), s.channels,
        MaxPoolBackward<T, kCudaLanes>{s, grad_y.data<T>(), index.data<int32_t>(), grad_x.mutable_data<T>()});
  });
}

void avg_pool2d_cuda(const Tensor& x, const Pool2dShape& s, Tensor& y) {
  dispatch_cuda(x.dtype(), "avg_pool2d", [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_rows_cuda(x.device(), out_pixels(s), s.channels,
                       AveragePoolForward<T, kCudaLanes>{s, x.data<T>(), y.mutable_data<T>()});
  });
}

void avg_pool2d_backward_cuda(const Tensor& grad_y, const Pool2dShape& s, Tensor& grad_x) {
  dispatch_cuda(grad_y.dtype(), "avg_pool2d", [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_rows_cuda(grad_y.device(), in_pixels(s), s.channels,
                       AveragePoolBackward<T, kCudaLanes>{s, grad_y.data<T>(), grad_x.mutable_data<T>()});
  });
}

OSPREY_REGISTER_KERNEL(max_pool2d_kernel, DeviceType::kCUDA, max_pool2d_cuda);
OSPREY_REGISTER_KERNEL(max_pool2d_backward_kernel, DeviceType::kCUDA, max_pool2d_backward_cuda);
OSPREY_REGISTER_KERNEL(avg_pool2d_kernel, DeviceType::kCUDA, avg_pool2d_cuda);
OSPREY_REGISTER_KERNEL(avg_pool2d_backward_kernel, DeviceType::kCUDA, avg_pool2d_backward_cuda);

}  // namespace
}  // namespace osprey
