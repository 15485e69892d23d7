#include "core/amp/unscale_kernel.h"
#include "core/backend/cuda/dispatch.h"
#include "core/backend/cuda/launch.cuh"

namespace osprey {
namespace {

// Threads that find a value that is not finite write the same number: no atomics.
template <typename T>
struct Unscale {
  const T* grad;
  float factor;
  bool accumulate;
  float* master;
  int32_t* nonfinite;
  OSPREY_HD void operator()(int64_t i) const {
    const float value = static_cast<float>(grad[i]) * factor + (accumulate ? master[i] : 0.0f);
    master[i] = value;
    if (!(value - value == 0)) *nonfinite = 1;
  }
};

void unscale_cuda(const Tensor& grad, float factor, bool accumulate, Tensor& master, Tensor& nonfinite) {
  dispatch_cuda(grad.dtype(), "unscale", [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_for_cuda(grad.device(), grad.numel(),
                      Unscale<T>{grad.data<T>(), factor, accumulate, master.mutable_data<float>(),
                                 nonfinite.mutable_data<int32_t>()});
  });
}

OSPREY_REGISTER_KERNEL(unscale_kernel, DeviceType::kCUDA, unscale_cuda);

}  // namespace
}  // namespace osprey
