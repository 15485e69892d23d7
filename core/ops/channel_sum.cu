#include "core/backend/cuda/column_sums.cuh"
#include "core/backend/cuda/dispatch.h"
#include "core/ops/channel_sum_kernel.h"

namespace osprey {
namespace {

template <typename T>
struct Value {
  const T* x;
  int64_t channels;
  OSPREY_HD void operator()(int64_t row, int64_t c, float* sums) const {
    sums[0] += static_cast<float>(x[row * channels + c]);
  }
};

void channel_sum_cuda(const Tensor& x, Tensor& sums) {
  dispatch_cuda(x.dtype(), "channel_sum", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Tensor total =
        sum_columns_cuda<1, float>(x.device(), x.dim(0), x.dim(1), Value<T>{x.data<T>(), x.dim(1)});
    parallel_for_cuda(x.device(), sums.numel(),
                      RoundTotals{total.data<double>(), sums.mutable_data<float>()});
  });
}

OSPREY_REGISTER_KERNEL(channel_sum_kernel, DeviceType::kCUDA, channel_sum_cuda);

}  // namespace
}  // namespace osprey
