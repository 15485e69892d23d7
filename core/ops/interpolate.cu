#include "core/backend/cuda/dispatch.h"
#include "core/backend/cuda/launch.cuh"
#include "core/ops/interpolate_launch.h"

namespace osprey {
namespace {

struct Launch {
  Device device;
  template <typename F>
  void operator()(int64_t rows, int64_t channels, const F& functor) const {
    parallel_rows_cuda(device, rows, channels, functor);
  }
};

void upsample_cuda(const Tensor& x, UpsampleMode mode, Tensor& y) {
  dispatch_cuda(x.dtype(), "upsample", [&](auto tag) {
    launch_upsample<typename decltype(tag)::type, kCudaLanes>(x, mode, y, Launch{x.device()});
  });
}

void upsample_backward_cuda(const Tensor& grad_y, UpsampleMode mode, Tensor& grad_x) {
  dispatch_cuda(grad_y.dtype(), "upsample", [&](auto tag) {
    launch_upsample_backward<typename decltype(tag)::type, kCudaLanes>(grad_y, mode, grad_x,
                                                                       Launch{grad_y.device()});
  });
}

OSPREY_REGISTER_KERNEL(upsample_kernel, DeviceType::kCUDA, upsample_cuda);
OSPREY_REGISTER_KERNEL(upsample_backward_kernel, DeviceType::kCUDA, upsample_backward_cuda);

}  // namespace
}  // namespace osprey
