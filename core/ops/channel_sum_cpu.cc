#include "core/backend/cpu/channel_rows.h"
#include "core/ops/channel_sum_kernel.h"

namespace osprey {
namespace {

void channel_sum_cpu(const Tensor& x, Tensor& sums) {
  dispatch_floating(x.dtype(), "channel_sum", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = ComputeType<T>;
    const auto [total] = sum_rows<1>(ChannelRows(x.dim(0), x.dim(1)), std::array{x.data<T>()},
                                     [](const auto& in, const auto& sum, int64_t count) {
                                       for (int64_t j = 0; j < count; ++j) sum[0][j] += in[0][j];
                                     });
    std::copy(total.begin(), total.end(), sums.mutable_data<C>());
  });
}

OSPREY_REGISTER_KERNEL(channel_sum_kernel, DeviceType::kCPU, channel_sum_cpu);

}  // namespace
}  // namespace osprey
