#include "core/backend/cuda/add_bias.h"

#include "core/backend/cuda/dispatch.h"
#include "core/backend/cuda/launch.cuh"

namespace osprey {
namespace {

template <typename T>
struct AddBias {
  const float* bias;
  int64_t channels;
  T* y;
  OSPREY_HD void operator()(int64_t row, int64_t c, int64_t) const {
    T& value = y[row * channels + c];
    value = static_cast<T>(static_cast<float>(value) + bias[c]);
  }
};

}  // namespace

void add_bias_cuda(const Tensor& bias, Tensor& y) {
  const Tensor bias32 = bias.to(DType::kF32);
  dispatch_cuda(y.dtype(), "add_bias", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const int64_t channels = bias.numel();
    parallel_rows_cuda(y.device(), y.numel() / channels, channels,
                       AddBias<T>{bias32.data<float>(), channels, y.mutable_data<T>()});
  });
}

}  // namespace osprey
