#include "core/backend/cpu/launch.h"
#include "core/backend/cpu/map_cpu.h"
#include "core/ops/row_ops_kernel.h"

namespace osprey {
namespace {

// Calls f with a value of the compute type of losses, f32 or f64.
template <typename F>
void in_loss_type(DType dtype, const F& f) {
  if (dtype == DType::kF64) {
    f(double{});
  } else {
    f(float{});
  }
}

void scale_rows_cpu(const Tensor& x, const Tensor& weights, Tensor& out) {
  in_loss_type(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const int64_t rows = x.dim(0), columns = x.numel() / rows;
    parallel_rows_cpu(rows, columns,
                      ScaleRow<T>{x.data<T>(), weights.data<T>(), out.mutable_data<T>(), columns});
  });
}

void sum_of_rows_cpu(const Tensor& x, Tensor& sums) {
  in_loss_type(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    parallel_for_cpu(x.dim(0), SumOfRow<T>{x.data<T>(), sums.mutable_data<T>(), x.dim(1)});
  });
}

void max_of_rows_cpu(const Tensor& x, int64_t columns, Tensor& largest) {
  parallel_for_cpu(x.dim(0), MaxOfRow{x.data<float>(), largest.mutable_data<float>(), x.dim(1), columns},
                   /*grain=*/256);
}

void with_zero_column_cpu(const Tensor& x, Tensor& out) {
  parallel_rows_cpu(x.dim(0), out.dim(1), PaddedRow{x.data<float>(), out.mutable_data<float>(), out.dim(1)});
}

void one_hot_cpu(const Tensor& labels, int64_t classes, Tensor& targets) {
  parallel_rows_cpu(labels.numel(), classes,
                    OneHotRow{labels.data<int64_t>(), targets.mutable_data<float>(), classes});
}

void unless_equal_cpu(const Tensor& labels, int64_t ignored, Tensor& mask) {
  parallel_for_cpu(labels.numel(), UnlessEqual{labels.data<int64_t>(), mask.mutable_data<float>(), ignored});
}

void topk_hits_cpu(const Tensor& scores, const Tensor& labels, int64_t k, Tensor& hits) {
  parallel_for_cpu(
      labels.numel(),
      TopkHit{scores.data<float>(), labels.data<int64_t>(), hits.mutable_data<float>(), scores.dim(1), k},
      /*grain=*/64);
}

OSPREY_REGISTER_KERNEL(scale_rows_kernel, DeviceType::kCPU, scale_rows_cpu);
OSPREY_REGISTER_KERNEL(sum_of_rows_kernel, DeviceType::kCPU, sum_of_rows_cpu);
OSPREY_REGISTER_KERNEL(max_of_rows_kernel, DeviceType::kCPU, max_of_rows_cpu);
OSPREY_REGISTER_KERNEL(with_zero_column_kernel, DeviceType::kCPU, with_zero_column_cpu);
OSPREY_REGISTER_KERNEL(one_hot_kernel, DeviceType::kCPU, one_hot_cpu);
OSPREY_REGISTER_KERNEL(unless_equal_kernel, DeviceType::kCPU, unless_equal_cpu);
OSPREY_REGISTER_KERNEL(topk_hits_kernel, DeviceType::kCPU, topk_hits_cpu);

}  // namespace

OSPREY_MAP_CPU(InverseOrZero);

}  // namespace osprey
