#pragma once

#include <cmath>

#include "core/tensor/device_kernel.h"
#include "core/tensor/dtype.h"
#include "core/tensor/tensor.h"

namespace osprey {

// Every element of out = *value * scale.
template <typename T>
struct Broadcast {
  const ComputeType<T>* value;
  ComputeType<T> scale;
  T* out;
  OSPREY_HD void operator()(int64_t i) const { out[i] = static_cast<T>(*value * scale); }
};

// Softmax of one row, shifted by its maximum so that exp never overflows.
template <typename T>
struct SoftmaxRow {
  using C = ComputeType<T>;
  const T* in;
  int64_t width;
  C* out;
  OSPREY_HD void operator()(int64_t row) const {
    const T* from = in + row * width;
    C* to = out + row * width;
    C highest = static_cast<C>(from[0]);
    for (int64_t c = 1; c < width; ++c) {
      const C value = static_cast<C>(from[c]);
      highest = value > highest ? value : highest;
    }
    C sum = 0;
    for (int64_t c = 0; c < width; ++c) sum += to[c] = std::exp(static_cast<C>(from[c]) - highest);
    for (int64_t c = 0; c < width; ++c) to[c] /= sum;
  }
};

template <typename T>
struct ArgmaxRow {
  const T* in;
  int64_t width, columns;
  int64_t* out;
  OSPREY_HD void operator()(int64_t row) const {
    const T* from = in + row * width;
    int64_t best = 0;
    for (int64_t c = 1; c < columns; ++c) {
      if (static_cast<ComputeType<T>>(from[c]) > static_cast<ComputeType<T>>(from[best])) best = c;
    }
    out[row] = best;
  }
};

// Nothing is empty; results arrive uninitialised. value, total: shape () in the compute dtype.
extern DeviceKernel<void(const Tensor& x, Tensor& total)> sum_kernel;
extern DeviceKernel<void(const Tensor& value, double scale, Tensor& out)> broadcast_kernel;
extern DeviceKernel<void(const Tensor& x, Tensor& out)> softmax_rows_kernel;
extern DeviceKernel<void(const Tensor& x, int64_t columns, Tensor& out)> argmax_rows_kernel;

}  // namespace osprey
