#include "core/backend/cpu/launch.h"
#include "core/ops/roi_align_launch.h"

// Only f32 and f64 are instantiated here: compilers do not vectorise the conversion of single halves, so
// half maps and gradients are widened as a whole first, and the pooled result is rounded once.
namespace osprey {

namespace {

template <typename T>
void forward_as(RoIAlignArgs& args) {
  const RoIGrid grid = make_grid(args);
  T* out = args.pooled.mutable_data<T>();
  if (args.argmax.defined()) {
    const RoIAlignMax<T, T> pool{grid, out, args.argmax.mutable_data<int32_t>()};
    parallel_rows_cpu(bins_of(args), grid.channels, pool);
  } else {
    parallel_rows_cpu(bins_of(args), grid.channels, RoIAlignAverage<T, T>{grid, out});
  }
}

template <typename T>
void backward_as(RoIAlignArgs& args) {
  const RoIGrid grid = make_grid(args);
  const T* grad = args.pooled.data<T>();
  if (args.argmax.defined()) {
    using Gradient = RoIAlignMaxGrad<T, T>;
    scatter_rows_cpu(bins_of(args), grid.channels,
                     RoIScatter<T, Gradient>{grid, {grad, args.argmax.data<int32_t>()}});
  } else {
    using Gradient = RoIAlignAverageGrad<T, T>;
    scatter_rows_cpu(bins_of(args), grid.channels, RoIScatter<T, Gradient>{grid, {grad}});
  }
}

void forward(RoIAlignArgs& args) {
  const DType dtype = args.pooled.dtype();
  if (dtype == DType::kF64) return forward_as<double>(args);
  if (dtype == DType::kF32) return forward_as<float>(args);
  RoIAlignArgs wide = args;
  for (Tensor& map : wide.maps) map = map.to(DType::kF32);
  wide.pooled = Tensor(args.pooled.shape(), DType::kF32);
  forward_as<float>(wide);
  args.pooled.copy_from(wide.pooled);
}

void backward(RoIAlignArgs& args) {
  if (args.pooled.dtype() == DType::kF64) return backward_as<double>(args);
  args.pooled = args.pooled.to(DType::kF32);
  backward_as<float>(args);
}

}  // namespace

OSPREY_REGISTER_KERNEL(roi_align_kernel, DeviceType::kCPU, forward);
OSPREY_REGISTER_KERNEL(roi_align_grad_kernel, DeviceType::kCPU, backward);

}  // namespace osprey
