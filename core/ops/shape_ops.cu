#include "core/backend/cuda/dispatch.h"
#include "core/backend/cuda/launch.cuh"
#include "core/ops/shape_ops_kernel.h"

namespace osprey {
namespace {

void gather_rows_cuda(const Tensor& x, const Tensor& indices, Tensor& out) {
  const int64_t width = out.numel() / out.dim(0);
  dispatch_all(x.dtype(), "gather_rows", [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_rows_cuda(indices.device(), out.dim(0), width,
                       GatherRows<T>{x.data<T>(), indices.data<int64_t>(), width, out.mutable_data<T>()});
  });
}

void scatter_add_rows_cuda(const Tensor& grad, const Tensor& indices, Tensor& sum) {
  const int64_t width = grad.numel() / grad.dim(0);
  dispatch_cuda(grad.dtype(), "gather_rows", [&](auto tag) {
    using T = typename decltype(tag)::type;
    scatter_rows_cuda(indices.device(), grad.dim(0), width,
                      ScatterAddRows<T>{grad.data<T>(), indices.data<int64_t>(), width,
                                        sum.mutable_data<ComputeType<T>>()});
  });
}

void select_group_cuda(const Tensor& x, const Tensor& indices, Tensor& out) {
  const int64_t rows = x.dim(0), inner = rows / indices.numel(), k = out.dim(1);
  dispatch_cuda(x.dtype(), "gather_group", [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_rows_cuda(
        indices.device(), rows, k,
        SelectGroup<T>{x.data<T>(), indices.data<int64_t>(), inner, x.dim(1), k, out.mutable_data<T>()});
  });
}

void select_group_backward_cuda(const Tensor& grad, const Tensor& indices, Tensor& grad_x) {
  const int64_t rows = grad.dim(0), inner = rows / indices.numel(), width = grad_x.dim(1);
  dispatch_cuda(grad.dtype(), "gather_group", [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_rows_cuda(indices.device(), rows, width,
                       SelectGroupGrad<T>{grad.data<T>(), indices.data<int64_t>(), inner, width, grad.dim(1),
                                          grad_x.mutable_data<T>()});
  });
}

OSPREY_REGISTER_KERNEL(gather_rows_kernel, DeviceType::kCUDA, gather_rows_cuda);
OSPREY_REGISTER_KERNEL(scatter_add_rows_kernel, DeviceType::kCUDA, scatter_add_rows_cuda);
OSPREY_REGISTER_KERNEL(select_group_kernel, DeviceType::kCUDA, select_group_cuda);
OSPREY_REGISTER_KERNEL(select_group_backward_kernel, DeviceType::kCUDA, select_group_backward_cuda);

}  // namespace
}  // namespace osprey
