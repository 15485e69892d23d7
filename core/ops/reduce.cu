#include "core/backend/cuda/column_sums.cuh"
#include "core/backend/cuda/dispatch.h"
#include "core/backend/cuda/launch.cuh"
#include "core/ops/reduce_kernel.h"

namespace osprey {
namespace {

template <typename T>
struct Element {
  const T* x;
  OSPREY_HD void operator()(int64_t i, int64_t, double* sums) const {
    sums[0] += static_cast<double>(static_cast<float>(x[i]));
  }
};

void sum_cuda(const Tensor& x, Tensor& total) {
  dispatch_cuda(x.dtype(), "sum", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Tensor sums = sum_columns_cuda<1, double>(x.device(), x.numel(), 1, Element<T>{x.data<T>()});
    parallel_for_cuda(x.device(), 1, RoundTotals{sums.data<double>(), total.mutable_data<float>()});
  });
}

void broadcast_cuda(const Tensor& value, double scale, Tensor& out) {
  dispatch_cuda(out.dtype(), "sum", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Broadcast<T> fill{value.data<float>(), static_cast<float>(scale), out.mutable_data<T>()};
    parallel_for_cuda(out.device(), out.numel(), fill);
  });
}

void softmax_rows_cuda(const Tensor& x, Tensor& out) {
  dispatch_cuda(x.dtype(), "softmax_rows", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const SoftmaxRow<T> row{x.data<T>(), x.dim(1), out.mutable_data<float>()};
    parallel_for_cuda(x.device(), x.dim(0), row);
  });
}

void argmax_rows_cuda(const Tensor& x, int64_t columns, Tensor& out) {
  dispatch_cuda(x.dtype(), "argmax_rows", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const ArgmaxRow<T> row{x.data<T>(), x.dim(1), columns, out.mutable_data<int64_t>()};
    parallel_for_cuda(x.device(), x.dim(0), row);
  });
}

OSPREY_REGISTER_KERNEL(sum_kernel, DeviceType::kCUDA, sum_cuda);
OSPREY_REGISTER_KERNEL(broadcast_kernel, DeviceType::kCUDA, broadcast_cuda);
OSPREY_REGISTER_KERNEL(softmax_rows_kernel, DeviceType::kCUDA, softmax_rows_cuda);
OSPREY_REGISTER_KERNEL(argmax_rows_kernel, DeviceType::kCUDA, argmax_rows_cuda);

}  // namespace
}  // namespace osprey
