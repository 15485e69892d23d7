#include "core/ops/channel_sum.h"

#include "core/ops/channel_sum_kernel.h"

namespace osprey {

DeviceKernel<void(const Tensor&, Tensor&)> channel_sum_kernel("channel_sum");

Tensor channel_sum(const Tensor& x) {
  const int64_t channels = x.dim(-1);
  const DType dtype = x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  if (x.empty()) return Tensor::zeros({channels}, dtype, x.device());
  Tensor sums({channels}, dtype, x.device());
  channel_sum_kernel(x.device(), x.reshape({-1, channels}), sums);
  return sums;
}

}  // namespace osprey
