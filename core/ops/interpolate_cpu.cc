#include "core/backend/cpu/launch.h"
#include "core/ops/interpolate_launch.h"

namespace osprey {
namespace {

constexpr auto kLaunch = [](int64_t rows, int64_t channels, const auto& functor) {
  parallel_rows_cpu(rows, channels, functor);
};

void upsample_cpu(const Tensor& x, UpsampleMode mode, Tensor& y) {
  dispatch_floating(x.dtype(), "upsample", [&](auto tag) {
    launch_upsample<typename decltype(tag)::type, kCpuLanes>(x, mode, y, kLaunch);
  });
}

void upsample_backward_cpu(const Tensor& grad_y, UpsampleMode mode, Tensor& grad_x) {
  dispatch_floating(grad_y.dtype(), "upsample", [&](auto tag) {
    launch_upsample_backward<typename decltype(tag)::type, kCpuLanes>(grad_y, mode, grad_x, kLaunch);
  });
}

OSPREY_REGISTER_KERNEL(upsample_kernel, DeviceType::kCPU, upsample_cpu);
OSPREY_REGISTER_KERNEL(upsample_backward_kernel, DeviceType::kCPU, upsample_backward_cpu);

}  // namespace
}  // namespace osprey
