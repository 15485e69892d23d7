#pragma once

#include "core/backend/lanes.h"
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
  // visit(position): the padded positions, counted from -padding, that show pixel i.
  template <typename Visit>
  OSPREY_HD void for_each_copy(int64_t i, int64_t extent, const Visit& visit) const {
    const int64_t period = extent > 1 ? 2 * (extent - 1) : 1;
    for (int64_t p = -padding + (padding + i) % period; p < extent + padding; p += period) visit(p);
    if (i == 0 || i == extent - 1) return;  // its own mirror image
    for (int64_t p = -padding + (padding + period - i) % period; p < extent + padding; p += period) visit(p);
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

// Row = pixel of x: it gathers from its copies, so that no two rows write to one place.
template <typename T, int kLanes>
struct ReflectPadGrad {
  using C = ComputeType<T>;
  ReflectShape s;
  const T* grad_out;
  T* grad_x;

  OSPREY_HD void operator()(int64_t row, int64_t c_begin, int64_t c_end) const {
    const int64_t x = row % s.w, y = row / s.w % s.h, image = row / s.w / s.h;
    const int64_t padded_h = s.h + 2 * s.padding, padded_w = s.w + 2 * s.padding;
    for (int64_t c = c_begin; c < c_end; c += kLanes) {
      const int64_t lanes = c_end - c < kLanes ? c_end - c : kLanes;
      C sum[kLanes], buffer[kLanes];
      for (int64_t k = 0; k < lanes; ++k) sum[k] = 0;
      s.for_each_copy(y, s.h, [&](int64_t py) {
        const int64_t line = (image * padded_h + py + s.padding) * padded_w + s.padding;
        s.for_each_copy(x, s.w, [&](int64_t px) {
          const C* value = load_lanes(grad_out + (line + px) * s.channels + c, buffer, lanes);
          for (int64_t k = 0; k < lanes; ++k) sum[k] += value[k];
        });
      });
      store_lanes(sum, grad_x + row * s.channels + c, lanes);
    }
  }
};

// Nothing is empty.
extern DeviceKernel<void(const Tensor& x, const ReflectShape& shape, Tensor& out)> reflect_pad_kernel;
// Of one dtype; grad_x arrives uninitialised.
extern DeviceKernel<void(const Tensor& grad_out, const ReflectShape& shape, Tensor& grad_x)>
    reflect_pad_backward_kernel;

}  // namespace osprey
