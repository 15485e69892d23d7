#include "core/backend/cuda/dispatch.h"
#include "core/backend/cuda/launch.cuh"
#include "core/backend/cuda/row_sums.cuh"
#include "core/ops/deform_conv2d_kernel.h"

namespace osprey {
namespace {

// Workers that share a sum over channels: enough for loads of whole sectors, few partial sums.
constexpr int kLanes = 8;

void columns_cuda(const DeformArgs& args, Tensor& columns) {
  dispatch_cuda(columns.dtype(), "deform_conv2d", [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_rows_cuda(
        columns.device(), columns.dim(0), args.shape.ci,
        DeformColumns<T, float>{args.grid<float>(), args.x.data<T>(), columns.mutable_data<T>()});
  });
}

void backward_cuda(const DeformArgs& args, const Tensor& grad_columns, Tensor* grad_x, Tensor* grad_offset,
                   Tensor* grad_mask) {
  const DeformShape& s = args.shape;
  const Device device = grad_columns.device();
  const int64_t pixels = grad_columns.dim(0);
  dispatch_cuda(grad_columns.dtype(), "deform_conv2d backward", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* g = grad_columns.data<T>();
    if (grad_x) {
      scatter_rows_cuda(
          device, pixels, s.ci,
          DeformInputGrad<T, float>{args.grid<float>(), args.images(), g, grad_x->mutable_data<float>()});
    }
    if (!grad_offset) return;
    sum_rows_cuda<3, kLanes>(device, pixels * s.deform_groups * s.taps(),
                             DeformOffsetGrad<T, float, kLanes>{
                                 args.grid<float>(), args.x.data<T>(), g, grad_offset->mutable_data<float>(),
                                 grad_mask ? grad_mask->mutable_data<float>() : nullptr});
  });
}

OSPREY_REGISTER_KERNEL(deform_columns_kernel, DeviceType::kCUDA, columns_cuda);
OSPREY_REGISTER_KERNEL(deform_columns_backward_kernel, DeviceType::kCUDA, backward_cuda);

}  // namespace
}  // namespace osprey
