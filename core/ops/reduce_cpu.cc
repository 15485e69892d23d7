#include "core/backend/cpu/channel_rows.h"
#include "core/backend/cpu/launch.h"
#include "core/ops/reduce_kernel.h"

namespace osprey {
namespace {

// f32 and f64 in double; the halves in f32 within blocks. One column of sums a lane, in a fixed order: the
// result does not depend on the number of threads.
template <typename T>
double sum_values(const T* values, int64_t n) {
  constexpr int64_t kLanes = 64;
  const ChannelRows rows(n / kLanes, kLanes);
  double total = 0;
  if (n >= kLanes) {
    const auto [lanes] =
        sum_rows<1>(rows, std::array{values}, [](const auto& in, const auto& sum, int64_t count) {
          for (int64_t j = 0; j < count; ++j) sum[0][j] += in[0][j];
        });
    for (const double lane : lanes) total += lane;
  }
  for (int64_t i = n / kLanes * kLanes; i < n; ++i) total += static_cast<ComputeType<T>>(values[i]);
  return total;
}

// f32 sums promise double precision throughout.
template <>
double sum_values(const float* values, int64_t n) {
  constexpr int64_t kBlock = 1 << 14, kLanes = 8;
  std::vector<double> partial((n + kBlock - 1) / kBlock);
  parallel_ranges(static_cast<int64_t>(partial.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const float* from = values + block * kBlock;
      const int64_t count = std::min(kBlock, n - block * kBlock);
      double lanes[kLanes] = {};
      int64_t i = 0;
      for (; i + kLanes <= count; i += kLanes) {
        for (int64_t k = 0; k < kLanes; ++k) lanes[k] += from[i + k];
      }
      for (; i < count; ++i) lanes[0] += from[i];
      for (const double lane : lanes) partial[block] += lane;
    }
  });
  double total = 0;
  for (const double block : partial) total += block;
  return total;
}

void sum_cpu(const Tensor& x, Tensor& total) {
  dispatch_floating(x.dtype(), "sum", [&](auto tag) {
    using T = typename decltype(tag)::type;
    *total.mutable_data<ComputeType<T>>() = static_cast<ComputeType<T>>(sum_values(x.data<T>(), x.numel()));
  });
}

void broadcast_cpu(const Tensor& value, double scale, Tensor& out) {
  dispatch_floating(out.dtype(), "sum", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = ComputeType<T>;
    const T filled = static_cast<T>(*value.data<C>() * static_cast<C>(scale));
    T* to = out.mutable_data<T>();
    parallel_ranges(out.numel(), 1 << 15,
                    [&](int64_t begin, int64_t end) { std::fill(to + begin, to + end, filled); });
  });
}

void softmax_rows_cpu(const Tensor& x, Tensor& out) {
  dispatch_floating(x.dtype(), "softmax_rows", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const SoftmaxRow<T> row{x.data<T>(), x.dim(1), out.mutable_data<ComputeType<T>>()};
    parallel_for_cpu(x.dim(0), row, std::max<int64_t>(1, 4096 / x.dim(1)));
  });
}

void argmax_rows_cpu(const Tensor& x, int64_t columns, Tensor& out) {
  dispatch_floating(x.dtype(), "argmax_rows", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const ArgmaxRow<T> row{x.data<T>(), x.dim(1), columns, out.mutable_data<int64_t>()};
    parallel_for_cpu(x.dim(0), row, std::max<int64_t>(1, 16384 / x.dim(1)));
  });
}

OSPREY_REGISTER_KERNEL(sum_kernel, DeviceType::kCPU, sum_cpu);
OSPREY_REGISTER_KERNEL(broadcast_kernel, DeviceType::kCPU, broadcast_cpu);
OSPREY_REGISTER_KERNEL(softmax_rows_kernel, DeviceType::kCPU, softmax_rows_cpu);
OSPREY_REGISTER_KERNEL(argmax_rows_kernel, DeviceType::kCPU, argmax_rows_cpu);

}  // namespace
}  // namespace osprey
