#include "core/backend/cpu/launch.h"
#include "core/ops/channel_ops_kernel.h"
#include "core/tensor/dtype.h"

namespace osprey {
namespace {

void copy_channels_cpu(const Tensor& from, int64_t from_channel, Tensor& to, int64_t to_channel,
                       int64_t width) {
  dispatch_floating(to.dtype(), "copy_channels", [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_rows_cpu(to.numel() / to.dim(-1), width,
                      CopyChannels<T>{from.data<T>() + from_channel, from.dim(-1),
                                      to.mutable_data<T>() + to_channel, to.dim(-1)});
  });
}

OSPREY_REGISTER_KERNEL(copy_channels_kernel, DeviceType::kCPU, copy_channels_cpu);

}  // namespace
}  // namespace osprey
