#include "core/backend/cuda/dispatch.h"
#include "core/backend/cuda/launch.cuh"
#include "core/ops/channel_ops_kernel.h"

namespace osprey {
namespace {

void copy_channels_cuda(const Tensor& from, int64_t from_channel, Tensor& to, int64_t to_channel,
                        int64_t width) {
  dispatch_cuda(to.dtype(), "copy_channels", [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_rows_cuda(to.device(), to.numel() / to.dim(-1), width,
                       CopyChannels<T>{from.data<T>() + from_channel, from.dim(-1),
                                       to.mutable_data<T>() + to_channel, to.dim(-1)});
  });
}

OSPREY_REGISTER_KERNEL(copy_channels_kernel, DeviceType::kCUDA, copy_channels_cuda);

}  // namespace
}  // namespace osprey
