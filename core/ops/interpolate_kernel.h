#pragma once

#include "core/backend/lanes.h"
#include "core/tensor/device_kernel.h"
#include "core/tensor/tensor.h"

namespace osprey {

// One axis of a resize from `in` to `out` positions, with the coordinates of torch's interpolate: computed in
// f32 (f64 for f64 data), so that ties fall as they do there.
template <typename C>
struct NearestAxis {
  int64_t in, out;
  C scale;

  static NearestAxis of(int64_t in, int64_t out) {
    return {in, out, static_cast<C>(in) / static_cast<C>(out)};
  }

  OSPREY_HD int64_t source(int64_t o) const {
    const int64_t position = static_cast<int64_t>(static_cast<C>(o) * scale);
    return position < in ? position : in - 1;
  }
  // The weight of input position i in output o.
  OSPREY_HD C weight(int64_t o, int64_t i) const { return source(o) == i ? C(1) : C(0); }
  // Outputs that may read position i: [first, last], a little generous.
  OSPREY_HD int64_t first(int64_t i) const {
    const int64_t o = i * out / in - 1;
    return o < 0 ? 0 : o;
  }
  OSPREY_HD int64_t last(int64_t i) const {
    const int64_t o = (i + 1) * out / in + 1;
    return o < out ? o : out - 1;
  }
};

template <typename C>
struct BilinearAxis {
  int64_t in, out;
  bool align_corners;
  C scale;

  static BilinearAxis of(int64_t in, int64_t out, bool align_corners) {
    if (!align_corners) return {in, out, false, static_cast<C>(in) / static_cast<C>(out)};
    return {in, out, true, out > 1 ? static_cast<C>(in - 1) / static_cast<C>(out - 1) : C(0)};
  }

  OSPREY_HD C coordinate(int64_t o) const {
    if (align_corners) return static_cast<C>(o) * scale;
    const C position = (static_cast<C>(o) + C(0.5)) * scale - C(0.5);
    return position < 0 ? C(0) : position;
  }
  // Output o lies between positions low and high, `fraction` of the way.
  struct Sample {
    int64_t low, high;
    C fraction;
  };
  OSPREY_HD Sample sample(int64_t o) const {
    const C position = coordinate(o);
    int64_t low = static_cast<int64_t>(position);
    low = low < in ? low : in - 1;
    return {low, low + 1 < in ? low + 1 : low, position - static_cast<C>(low)};
  }
  OSPREY_HD C weight(int64_t o, int64_t i) const {
    const Sample s = sample(o);
    return (s.low == i ? 1 - s.fraction : C(0)) + (s.high == i ? s.fraction : C(0));
  }
  // Outputs whose coordinate may lie in (i - 1, i + 1): the inverse of coordinate(), a little generous.
  OSPREY_HD int64_t first(int64_t i) const {
    if (scale <= 0) return 0;
    const int64_t o = static_cast<int64_t>((static_cast<C>(i) - 1) / scale) - 2;
    return o < 0 ? 0 : o;
  }
  OSPREY_HD int64_t last(int64_t i) const {
    if (scale <= 0) return out - 1;
    const int64_t o = static_cast<int64_t>((static_cast<C>(i) + 2) / scale) + 2;
    // Everything beyond the far border reads the last position.
    return o < out && i + 1 < in ? o : out - 1;
  }
};

// Row = output pixel.
template <typename T>
struct UpsampleNearestForward {
  NearestAxis<ComputeType<T>> y, x;
  int64_t channels;
  const T* in;
  T* out;

  OSPREY_HD void operator()(int64_t row, int64_t c_begin, int64_t c_end) const {
    const int64_t ox = row % x.out, oy = row / x.out % y.out, n = row / x.out / y.out;
    const T* from = in + ((n * y.in + y.source(oy)) * x.in + x.source(ox)) * channels;
    for (int64_t c = c_begin; c < c_end; ++c) out[row * channels + c] = from[c];
  }
};

// Row = output pixel.
template <typename T, int kLanes>
struct UpsampleBilinearForward {
  using C = ComputeType<T>;
  BilinearAxis<C> y, x;
  int64_t channels;
  const T* in;
  T* out;

  OSPREY_HD void operator()(int64_t row, int64_t c_begin, int64_t c_end) const {
    const int64_t ox = row % x.out, oy = row / x.out % y.out, n = row / x.out / y.out;
    const auto sy = y.sample(oy), sx = x.sample(ox);
    const T* top = in + (n * y.in + sy.low) * x.in * channels;
    const T* bottom = in + (n * y.in + sy.high) * x.in * channels;
    for (int64_t c = c_begin; c < c_end; c += kLanes) {
      const int64_t lanes = c_end - c < kLanes ? c_end - c : kLanes;
      C buffer[4][kLanes], result[kLanes];
      const C* top_left = load_lanes(top + sx.low * channels + c, buffer[0], lanes);
      const C* top_right = load_lanes(top + sx.high * channels + c, buffer[1], lanes);
      const C* bottom_left = load_lanes(bottom + sx.low * channels + c, buffer[2], lanes);
      const C* bottom_right = load_lanes(bottom + sx.high * channels + c, buffer[3], lanes);
      for (int64_t k = 0; k < lanes; ++k) {
        const C above = (1 - sx.fraction) * top_left[k] + sx.fraction * top_right[k];
        const C below = (1 - sx.fraction) * bottom_left[k] + sx.fraction * bottom_right[k];
        result[k] = (1 - sy.fraction) * above + sy.fraction * below;
      }
      store_lanes(result, out + row * channels + c, lanes);
    }
  }
};

// Row = input pixel: it gathers from the outputs that read it, so that no two rows write to one place.
template <typename T, int kLanes, template <typename> class Axis>
struct UpsampleBackward {
  using C = ComputeType<T>;
  Axis<C> y, x;
  int64_t channels;
  const T* grad_out;
  T* grad_in;

  OSPREY_HD void operator()(int64_t row, int64_t c_begin, int64_t c_end) const {
    const int64_t ix = row % x.in, iy = row / x.in % y.in, n = row / x.in / y.in;
    for (int64_t c = c_begin; c < c_end; c += kLanes) {
      const int64_t lanes = c_end - c < kLanes ? c_end - c : kLanes;
      C sum[kLanes], buffer[kLanes];
      for (int64_t k = 0; k < lanes; ++k) sum[k] = 0;
      for (int64_t oy = y.first(iy); oy <= y.last(iy); ++oy) {
        const C wy = y.weight(oy, iy);
        if (wy == 0) continue;
        for (int64_t ox = x.first(ix); ox <= x.last(ix); ++ox) {
          const C weight = wy * x.weight(ox, ix);
          if (weight == 0) continue;
          const C* value =
              load_lanes(grad_out + ((n * y.out + oy) * x.out + ox) * channels + c, buffer, lanes);
          for (int64_t k = 0; k < lanes; ++k) sum[k] += weight * value[k];
        }
      }
      store_lanes(sum, grad_in + row * channels + c, lanes);
    }
  }
};

enum class UpsampleMode { kNearest, kBilinear, kBilinearAlignCorners };

// x (n, h, w, c), y (n, oh, ow, c), both not empty; the second of each pair arrives uninitialised.
extern DeviceKernel<void(const Tensor& x, UpsampleMode mode, Tensor& y)> upsample_kernel;
extern DeviceKernel<void(const Tensor& grad_y, UpsampleMode mode, Tensor& grad_x)> upsample_backward_kernel;

}  // namespace osprey
