#pragma once

#include "core/backend/atomic_add.h"
#include "core/tensor/device_kernel.h"
#include "core/tensor/dtype.h"
#include "core/tensor/tensor.h"

namespace osprey {

struct ReflectShape {
  int64_t h, w, channels, padding;  // of the unpadded map

  // The pixel that position i of an endless row of mirrors shows.
  OSPREY_HD static int64_t mirrored(int64_t i, int64_t extent) {
    if (extent == 1) return 0;
    const int64_t period = 2 * (extent - 1), place = (i < 0 ? -i : i) % period;
    return place < extent ? place : period - place;
  }
  // Row of the padded map -> first element of the pixel it shows.
  OSPREY_HD int64_t source(int64_t row) const {
    const int64_t padded_h = h + 2 * padding, padded_w = w + 2 * padding;
    const int64_t x = row % padded_w, y = row / padded_w % padded_h, image = row / padded_w / padded_h;
    return ((image * h + mirrored(y - padding, h)) * w + mirrored(x - padding, w)) * channels;
  }
};

template <typename T>
struct ReflectPad {
  ReflectShape s;
  const T* x;
  T* out;
  OSPREY_HD void operator()(int64_t row, int64_t begin, int64_t end) const {
    const T* from = x + s.source(row);
    for (int64_t c = begin; c < end; ++c) out[row * s.channels + c] = from[c];
  }
};

// Through scatter_rows.
template <typename T>
struct ReflectPadGrad {
  ReflectShape s;
  const T* grad_out;
  ComputeType<T>* grad_x;
  OSPREY_HD void operator()(int64_t row, int64_t begin, int64_t end) const {
    ComputeType<T>* to = grad_x + s.source(row);
    for (int64_t c = begin; c < end; ++c) {
      atomic_add(to + c, static_cast<ComputeType<T>>(grad_out[row * s.channels + c]));
    }
  }
};

// Nothing is empty.
extern DeviceKernel<void(const Tensor& x, const ReflectShape& shape, Tensor& out)> reflect_pad_kernel;
// Adds into grad_x, in the compute dtype.
extern DeviceKernel<void(const Tensor& grad_out, const ReflectShape& shape, Tensor& grad_x)>
    reflect_pad_backward_kernel;

}  // namespace osprey
