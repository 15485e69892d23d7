#include "core/backend/cuda/add_bias.h"

#include "core/backend/cuda/dispatch.h"
#include "core/backend/cuda/launch.cuh"
#include "core/backend/cuda/pack.cuh"

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

// A pack of neighbouring channels a call.
template <typename T>
struct AddBiasPack {
  AddBias<T> element;
  OSPREY_HD void operator()(int64_t row, int64_t pack, int64_t) const {
    const int64_t c = pack * Pack<T>::kWidth;
    T* place = element.y + row * element.channels + c;
    Pack<T> y = load_pack(place);
    for (int j = 0; j < Pack<T>::kWidth; ++j) {
      y.values[j] = static_cast<T>(static_cast<float>(y.values[j]) + element.bias[c + j]);
    }
    store_pack(y, place);
  }
};

}  // namespace

void add_bias_cuda(const Tensor& bias, Tensor& y) {
  const Tensor bias32 = bias.to(DType::kF32);
  dispatch_cuda(y.dtype(), "add_bias", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const int64_t channels = bias.numel();
    const AddBias<T> element{bias32.data<float>(), channels, y.mutable_data<T>()};
    const int64_t rows = y.numel() / channels;
    if (channels % Pack<T>::kWidth == 0 && fits_packs(element.y)) {
      parallel_rows_cuda(y.device(), rows, channels / Pack<T>::kWidth, AddBiasPack<T>{element});
    } else {
      parallel_rows_cuda(y.device(), rows, channels, element);
    }
  });
}

}  // namespace osprey
