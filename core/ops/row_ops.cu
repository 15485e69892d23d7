#include "core/backend/cuda/map_cuda.cuh"
#include "core/ops/row_ops_kernel.h"

namespace osprey {
namespace {

void scale_rows_cuda(const Tensor& x, const Tensor& weights, Tensor& out) {
  const int64_t rows = x.dim(0), columns = x.numel() / rows;
  parallel_rows_cuda(
      x.device(), rows, columns,
      ScaleRow<float>{x.data<float>(), weights.data<float>(), out.mutable_data<float>(), columns});
}

void sum_of_rows_cuda(const Tensor& x, Tensor& sums) {
  parallel_for_cuda(x.device(), x.dim(0),
                    SumOfRow<float>{x.data<float>(), sums.mutable_data<float>(), x.dim(1)});
}

void max_of_rows_cuda(const Tensor& x, int64_t columns, Tensor& largest) {
  parallel_for_cuda(x.device(), x.dim(0),
                    MaxOfRow{x.data<float>(), largest.mutable_data<float>(), x.dim(1), columns});
}

void with_zero_column_cuda(const Tensor& x, Tensor& out) {
  parallel_rows_cuda(x.device(), x.dim(0), out.dim(1),
                     PaddedRow{x.data<float>(), out.mutable_data<float>(), out.dim(1)});
}

void one_hot_cuda(const Tensor& labels, int64_t classes, Tensor& targets) {
  parallel_rows_cuda(labels.device(), labels.numel(), classes,
                     OneHotRow{labels.data<int64_t>(), targets.mutable_data<float>(), classes});
}

void unless_equal_cuda(const Tensor& labels, int64_t ignored, Tensor& mask) {
  parallel_for_cuda(labels.device(), labels.numel(),
                    UnlessEqual{labels.data<int64_t>(), mask.mutable_data<float>(), ignored});
}

void topk_hits_cuda(const Tensor& scores, const Tensor& labels, int64_t k, Tensor& hits) {
  parallel_for_cuda(
      scores.device(), labels.numel(),
      TopkHit{scores.data<float>(), labels.data<int64_t>(), hits.mutable_data<float>(), scores.dim(1), k});
}

OSPREY_REGISTER_KERNEL(scale_rows_kernel, DeviceType::kCUDA, scale_rows_cuda);
OSPREY_REGISTER_KERNEL(sum_of_rows_kernel, DeviceType::kCUDA, sum_of_rows_cuda);
OSPREY_REGISTER_KERNEL(max_of_rows_kernel, DeviceType::kCUDA, max_of_rows_cuda);
OSPREY_REGISTER_KERNEL(with_zero_column_kernel, DeviceType::kCUDA, with_zero_column_cuda);
OSPREY_REGISTER_KERNEL(one_hot_kernel, DeviceType::kCUDA, one_hot_cuda);
OSPREY_REGISTER_KERNEL(unless_equal_kernel, DeviceType::kCUDA, unless_equal_cuda);
OSPREY_REGISTER_KERNEL(topk_hits_kernel, DeviceType::kCUDA, topk_hits_cuda);

}  // namespace

OSPREY_MAP_CUDA(InverseOrZero);

}  // namespace osprey
