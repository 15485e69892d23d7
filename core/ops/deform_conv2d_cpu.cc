#include "core/backend/cpu/launch.h"
#include "core/ops/deform_conv2d_kernel.h"

// f32 and f64: the op widens the halves as a whole (see deform_conv2d.cc).
namespace osprey {
namespace {

template <typename T>
void columns_as(const DeformArgs& args, Tensor& columns) {
  parallel_rows_cpu(columns.dim(0), args.shape.ci,
                    DeformColumns<T, T>{args.grid<T>(), args.x.data<T>(), columns.mutable_data<T>()});
}

template <typename T>
void backward_as(const DeformArgs& args, const Tensor& grad_columns, Tensor* grad_x, Tensor* grad_offset,
                 Tensor* grad_mask) {
  const DeformShape& s = args.shape;
  const int64_t pixels = grad_columns.dim(0);
  const T* g = grad_columns.data<T>();
  if (grad_x) {
    scatter_rows_cpu(pixels, s.ci,
                     DeformInputGrad<T, T>{args.grid<T>(), args.images(), g, grad_x->mutable_data<T>()});
  }
  if (!grad_offset) return;
  const DeformOffsetGrad<T, T, 1> row{args.grid<T>(), args.x.data<T>(), g, grad_offset->mutable_data<T>(),
                                      grad_mask ? grad_mask->mutable_data<T>() : nullptr};
  parallel_for_cpu(
      pixels * s.deform_groups * s.taps(),
      [&](int64_t i) {
        T sums[3] = {0, 0, 0};
        row.add(i, 0, sums);
        row.finish(i, sums);
      },
      /*grain=*/64);
}

void columns_cpu(const DeformArgs& args, Tensor& columns) {
  args.x.dtype() == DType::kF64 ? columns_as<double>(args, columns) : columns_as<float>(args, columns);
}

void backward_cpu(const DeformArgs& args, const Tensor& grad_columns, Tensor* grad_x, Tensor* grad_offset,
                  Tensor* grad_mask) {
  const bool f64 = args.x.dtype() == DType::kF64;
  (f64 ? backward_as<double> : backward_as<float>)(args, grad_columns, grad_x, grad_offset, grad_mask);
}

OSPREY_REGISTER_KERNEL(deform_columns_kernel, DeviceType::kCPU, columns_cpu);
OSPREY_REGISTER_KERNEL(deform_columns_backward_kernel, DeviceType::kCPU, backward_cpu);

}  // namespace
}  // namespace osprey
