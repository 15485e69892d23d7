#include "core/backend/cuda/launch.cuh"
#include "core/ops/roi_align_launch.h"

namespace osprey {

namespace {

template <typename T>
void forward_as(RoIAlignArgs& args) {
  const RoIGrid grid = make_grid(args);
  const Device device = args.pooled.device();
  T* out = args.pooled.mutable_data<T>();
  if (args.argmax.defined()) {
    const RoIAlignMax<T, float> pool{grid, out, args.argmax.mutable_data<int32_t>()};
    parallel_rows_cuda(device, bins_of(args), grid.channels, pool);
  } else {
    parallel_rows_cuda(device, bins_of(args), grid.channels, RoIAlignAverage<T, float>{grid, out});
  }
}

template <typename T>
void backward_as(RoIAlignArgs& args) {
  const RoIGrid grid = make_grid(args);
  const Device device = args.pooled.device();
  const T* grad = args.pooled.data<T>();
  if (args.argmax.defined()) {
    using Gradient = RoIAlignMaxGrad<T, float>;
    scatter_rows_cuda(device, bins_of(args), grid.channels,
                      RoIScatter<float, Gradient>{grid, {grad, args.argmax.data<int32_t>()}});
  } else {
    using Gradient = RoIAlignAverageGrad<T, float>;
    scatter_rows_cuda(device, bins_of(args), grid.channels, RoIScatter<float, Gradient>{grid, {grad}});
  }
}

// f64 lives on the CPU only.
template <typename Launch>
void with_stored_type(DType dtype, const Launch& launch) {
  switch (dtype) {
    case DType::kF32:
      return launch(TypeTag<float>{});
    case DType::kF16:
      return launch(TypeTag<Half>{});
    case DType::kBF16:
      return launch(TypeTag<BFloat16>{});
    default:
      throw Error(str_cat("roi_align: no CUDA kernel for ", dtype));
  }
}

void forward(RoIAlignArgs& args) {
  with_stored_type(args.pooled.dtype(), [&](auto tag) { forward_as<typename decltype(tag)::type>(args); });
}

void backward(RoIAlignArgs& args) {
  with_stored_type(args.pooled.dtype(), [&](auto tag) { backward_as<typename decltype(tag)::type>(args); });
}

}  // namespace

OSPREY_REGISTER_KERNEL(roi_align_kernel, DeviceType::kCUDA, forward);
OSPREY_REGISTER_KERNEL(roi_align_grad_kernel, DeviceType::kCUDA, backward);

}  // namespace osprey
