#pragma once

#include <limits>

#include "core/backend/lanes.h"
#include "core/ops/pool2d.h"
#include "core/tensor/device_kernel.h"

namespace osprey {

// Extents of a pooling. Window o of an axis covers [o stride - padding, ... + kernel), cut to the map; in
// adaptive pooling [floor(o in / out), ceil((o + 1) in / out)).
struct PoolAxis {
  int64_t in, out;
  int64_t kernel, stride, padding;
  bool adaptive;

  OSPREY_HD int64_t begin(int64_t o) const {
    if (adaptive) return o * in / out;
    const int64_t start = o * stride - padding;
    return start < 0 ? 0 : start;
  }
  OSPREY_HD int64_t end(int64_t o) const {
    if (adaptive) return ((o + 1) * in + out - 1) / out;
    const int64_t stop = o * stride - padding + kernel;
    return stop > in ? in : stop;
  }
  // Extent of window o with the padding it covers, as torch counts it: up to `padding` beyond the far end.
  OSPREY_HD int64_t padded_extent(int64_t o) const {
    const int64_t start = o * stride - padding, stop = start + kernel, limit = in + padding;
    return (stop < limit ? stop : limit) - start;
  }
  // The windows that may cover position i: [first_window, last_window].
  OSPREY_HD int64_t first_window(int64_t i) const {
    if (adaptive) return i * out / in > 0 ? i * out / in - 1 : 0;
    const int64_t reach = i + padding - kernel + 1;
    return reach <= 0 ? 0 : (reach + stride - 1) / stride;
  }
  OSPREY_HD int64_t last_window(int64_t i) const {
    const int64_t last = adaptive ? ((i + 1) * out + in - 1) / in : (i + padding) / stride;
    return last < out ? last : out - 1;
  }
};

struct Pool2dShape {
  int64_t n, channels;
  PoolAxis y, x;
  bool count_include_pad;
};

// Row = output pixel. index: flat position y * w + x of the maximum in its image; the first of equals, and a
// NaN wins.
template <typename T, int kLanes>
struct MaxPoolForward {
  Pool2dShape s;
  const T* in;
  T* out;
  int32_t* index;

  OSPREY_HD void operator()(int64_t row, int64_t c_begin, int64_t c_end) const {
    using C = ComputeType<T>;
    const int64_t ox = row % s.x.out, oy = row / s.x.out % s.y.out, n = row / s.x.out / s.y.out;
    for (int64_t c = c_begin; c < c_end; c += kLanes) {
      const int64_t lanes = c_end - c < kLanes ? c_end - c : kLanes;
      C best[kLanes], buffer[kLanes];
      int32_t where[kLanes];
      for (int64_t k = 0; k < lanes; ++k) {
        best[k] = -std::numeric_limits<C>::infinity();
        where[k] = static_cast<int32_t>(s.y.begin(oy) * s.x.in + s.x.begin(ox));
      }
      for (int64_t y = s.y.begin(oy); y < s.y.end(oy); ++y) {
        for (int64_t x = s.x.begin(ox); x < s.x.end(ox); ++x) {
          const int32_t position = static_cast<int32_t>(y * s.x.in + x);
          const C* value = load_lanes(in + ((n * s.y.in + y) * s.x.in + x) * s.channels + c, buffer, lanes);
          for (int64_t k = 0; k < lanes; ++k) {
            const bool better = value[k] > best[k] || value[k] != value[k];
            best[k] = better ? value[k] : best[k];
            where[k] = better ? position : where[k];
          }
        }
      }
      store_lanes(best, out + row * s.channels + c, lanes);
      for (int64_t k = 0; k < lanes; ++k) index[row * s.channels + c + k] = where[k];
    }
  }
};

// Row = input pixel: it gathers from the windows that chose it, so that no two rows write to one place.
template <typename T, int kLanes>
struct MaxPoolBackward {
  Pool2dShape s;
  const T* grad_out;
  const int32_t* index;
  T* grad_in;

  OSPREY_HD void operator()(int64_t row, int64_t c_begin, int64_t c_end) const {
    using C = ComputeType<T>;
    const int64_t x = row % s.x.in, y = row / s.x.in % s.y.in, n = row / s.x.in / s.y.in;
    const int32_t position = static_cast<int32_t>(y * s.x.in + x);
    for (int64_t c = c_begin; c < c_end; c += kLanes) {
      const int64_t lanes = c_end - c < kLanes ? c_end - c : kLanes;
      C sum[kLanes], buffer[kLanes];
      for (int64_t k = 0; k < lanes; ++k) sum[k] = 0;
      for (int64_t oy = s.y.first_window(y); oy <= s.y.last_window(y); ++oy) {
        for (int64_t ox = s.x.first_window(x); ox <= s.x.last_window(x); ++ox) {
          const int64_t from = ((n * s.y.out + oy) * s.x.out + ox) * s.channels + c;
          const C* value = load_lanes(grad_out + from, buffer, lanes);
          for (int64_t k = 0; k < lanes; ++k) sum[k] += index[from + k] == position ? value[k] : C(0);
        }
      }
      store_lanes(sum, grad_in + row * s.channels + c, lanes);
    }
  }
};

// 1 / what the sum of window (oy, ox) is divided by.
template <typename C>
OSPREY_HD C average_weight(const Pool2dShape& s, int64_t oy, int64_t ox) {
  if (!s.y.adaptive && s.count_include_pad) {
    return C(1) / static_cast<C>(s.y.padded_extent(oy) * s.x.padded_extent(ox));
  }
  return C(1) / static_cast<C>((s.y.end(oy) - s.y.begin(oy)) * (s.x.end(ox) - s.x.begin(ox)));
}

// Row = output pixel.
template <typename T, int kLanes>
struct AveragePoolForward {
  Pool2dShape s;
  const T* in;
  T* out;

  OSPREY_HD void operator()(int64_t row, int64_t c_begin, int64_t c_end) const {
    using C = ComputeType<T>;
    const int64_t ox = row % s.x.out, oy = row / s.x.out % s.y.out, n = row / s.x.out / s.y.out;
    const C weight = average_weight<C>(s, oy, ox);
    for (int64_t c = c_begin; c < c_end; c += kLanes) {
      const int64_t lanes = c_end - c < kLanes ? c_end - c : kLanes;
      C sum[kLanes], buffer[kLanes];
      for (int64_t k = 0; k < lanes; ++k) sum[k] = 0;
      for (int64_t y = s.y.begin(oy); y < s.y.end(oy); ++y) {
        for (int64_t x = s.x.begin(ox); x < s.x.end(ox); ++x) {
          const C* value = load_lanes(in + ((n * s.y.in + y) * s.x.in + x) * s.channels + c, buffer, lanes);
          for (int64_t k = 0; k < lanes; ++k) sum[k] += value[k];
        }
      }
      for (int64_t k = 0; k < lanes; ++k) sum[k] *= weight;
      store_lanes(sum, out + row * s.channels + c, lanes);
    }
  }
};

// Row = input pixel, gathering from the windows that cover it.
template <typename T, int kLanes>
struct AveragePoolBackward {
  Pool2dShape s;
  const T* grad_out;
  T* grad_in;

  OSPREY_HD void operator()(int64_t row, int64_t c_begin, int64_t c_end) const {
    using C = ComputeType<T>;
    const int64_t x = row % s.x.in, y = row / s.x.in % s.y.in, n = row / s.x.in / s.y.in;
    for (int64_t c = c_begin; c < c_end; c += kLanes) {
      const int64_t lanes = c_end - c < kLanes ? c_end - c : kLanes;
      C sum[kLanes], buffer[kLanes];
      for (int64_t k = 0; k < lanes; ++k) sum[k] = 0;
      for (int64_t oy = s.y.first_window(y); oy <= s.y.last_window(y); ++oy) {
        if (y < s.y.begin(oy) || y >= s.y.end(oy)) continue;
        for (int64_t ox = s.x.first_window(x); ox <= s.x.last_window(x); ++ox) {
          if (x < s.x.begin(ox) || x >= s.x.end(ox)) continue;
          const C weight = average_weight<C>(s, oy, ox);
          const C* value =
              load_lanes(grad_out + ((n * s.y.out + oy) * s.x.out + ox) * s.channels + c, buffer, lanes);
          for (int64_t k = 0; k < lanes; ++k) sum[k] += weight * value[k];
        }
      }
      store_lanes(sum, grad_in + row * s.channels + c, lanes);
    }
  }
};

// Outputs arrive allocated and uninitialised; nothing is empty.
extern DeviceKernel<void(const Tensor& x, const Pool2dShape& shape, Tensor& y, Tensor& index)>
    max_pool2d_kernel;
extern DeviceKernel<void(const Tensor& grad_y, const Tensor& index, const Pool2dShape& shape, Tensor& grad_x)>
    max_pool2d_backward_kernel;
extern DeviceKernel<void(const Tensor& x, const Pool2dShape& shape, Tensor& y)> avg_pool2d_kernel;
extern DeviceKernel<void(const Tensor& grad_y, const Pool2dShape& shape, Tensor& grad_x)>
    avg_pool2d_backward_kernel;

}  // namespace osprey
