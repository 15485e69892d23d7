#include "core/backend/cuda/add_bias.h"

#include "core/backend/cuda/dispatch.h"
#include "core/backend/cuda/launch.cuh"
#include "core/backend/cuda/pack.cuh"
#include "core/ops/elementwise_kernel.h"

namespace osprey {
namespace {

// Of one element; bias may be null.
template <bool kRelu>
struct Finish {
  const float* bias;
  OSPREY_HD float operator()(float y, int64_t c) const {
    const float sum = bias ? y + bias[c] : y;
    return kRelu ? Relu<float>()(sum) : sum;
  }
};

template <typename T, bool kRelu>
struct FinishElement {
  Finish<kRelu> finish;
  int64_t channels;
  T* y;
  OSPREY_HD void operator()(int64_t row, int64_t c, int64_t) const {
    T& value = y[row * channels + c];
    value = static_cast<T>(finish(static_cast<float>(value), c));
  }
};

// A pack of neighbouring channels a call.
template <typename T, bool kRelu>
struct FinishPack {
  FinishElement<T, kRelu> element;
  OSPREY_HD void operator()(int64_t row, int64_t pack, int64_t) const {
    const int64_t c = pack * Pack<T>::kWidth;
    T* place = element.y + row * element.channels + c;
    Pack<T> y = load_pack(place);
    for (int j = 0; j < Pack<T>::kWidth; ++j) {
      y.values[j] = static_cast<T>(element.finish(static_cast<float>(y.values[j]), c + j));
    }
    store_pack(y, place);
  }
};

template <bool kRelu>
void finish_cuda(const Tensor& bias, Tensor& y) {
  const Tensor bias32 = bias.defined() ? bias.to(DType::kF32) : Tensor();
  dispatch_cuda(y.dtype(), "add_bias", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const int64_t channels = y.shape().back(), rows = y.numel() / channels;
    const Finish<kRelu> finish{bias.defined() ? bias32.data<float>() : nullptr};
    const FinishElement<T, kRelu> element{finish, channels, y.mutable_data<T>()};
    if (channels % Pack<T>::kWidth == 0 && fits_packs(element.y)) {
      parallel_rows_cuda(y.device(), rows, channels / Pack<T>::kWidth, FinishPack<T, kRelu>{element});
    } else {
      parallel_rows_cuda(y.device(), rows, channels, element);
    }
  });
}

}  // namespace

void add_bias_cuda(const Tensor& bias, Tensor& y) { finish_cuda<false>(bias, y); }
void add_bias_relu_cuda(const Tensor& bias, Tensor& y) { finish_cuda<true>(bias, y); }

}  // namespace osprey
