#pragma once

#include <cmath>
#include <cstdint>

#include "core/backend/atomic_add.h"
#include "core/tensor/device_kernel.h"
#include "core/tensor/tensor.h"

// A deformable convolution is a gather, "columns", and a 1x1 convolution of them. Here is the gather. T
// stores (f64, f32, f16, bf16), A computes (f64, f32); a row is one output pixel.
namespace osprey {

#if defined(__CUDACC__)
#define OSPREY_SIMD_EACH
#define OSPREY_SIMD_DOTS
#else
#define OSPREY_SIMD_EACH _Pragma("omp simd")
#define OSPREY_SIMD_DOTS _Pragma("omp simd reduction(+ : d0, d1, d2, d3)")
#endif

// Extents, output pixels and samples fit 32 bits, which a GPU divides in a quarter of the time.
struct DeformShape {
  int h, w, ci;  // input
  int oh, ow;    // output
  int kh, kw;
  int stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
  int groups, deform_groups;

  OSPREY_HD int taps() const { return kh * kw; }
  OSPREY_HD int64_t depth() const { return static_cast<int64_t>(taps()) * ci; }  // of a pixel's columns
  OSPREY_HD int group_channels() const { return ci / groups; }
  OSPREY_HD int part_channels() const { return ci / deform_groups; }

  // Place of (tap, input channel) in a pixel's columns: (groups, taps, ci / groups), so that the channels of
  // a convolution group lie together, in the order of its weight.
  OSPREY_HD int64_t column(int tap, int c) const {
    const int group = c / group_channels();
    return static_cast<int64_t>(group * taps() + tap) * group_channels() + c - group * group_channels();
  }

  // visit(channel, count) for the pieces of [begin, end) whose columns are contiguous.
  template <typename Visit>
  OSPREY_HD void for_each_run(int begin, int end, const Visit& visit) const {
    for (int c = begin; c < end;) {
      const int stop = (c / group_channels() + 1) * group_channels();
      const int n = (stop < end ? stop : end) - c;
      visit(c, n);
      c += n;
    }
  }
};

// The two pixels around a coordinate inside (-1, extent), their weights and the derivatives of these. The one
// beyond the border has weight and slope 0 and stands in for itself with the other's index.
template <typename A>
struct DeformAxis {
  int low, high;
  A low_weight, high_weight, low_slope, high_slope;

  OSPREY_HD DeformAxis(A x, int extent) {
    const A floor = std::floor(x), fraction = x - floor;
    const int cell = static_cast<int>(floor);
    const bool has_low = cell >= 0, has_high = cell + 1 < extent;
    low = has_low ? cell : 0;
    high = has_high ? cell + 1 : extent - 1;
    low_weight = has_low ? 1 - fraction : A(0);
    high_weight = has_high ? fraction : A(0);
    low_slope = has_low ? A(-1) : A(0);
    high_slope = has_high ? A(1) : A(0);
  }
};

// Where one tap of one output pixel looks.
template <typename A>
struct DeformSample {
  bool inside;
  A y, x;

  // Elements before channel 0 of the four pixels, and their weights or derivatives: top left, top right,
  // bottom left, bottom right.
  struct Corners {
    int64_t at[4];
    A weight[4], by_y[4], by_x[4];
  };
  OSPREY_HD Corners corners(const DeformShape& s, int64_t image) const {
    const DeformAxis<A> v(y, s.h), u(x, s.w);
    const int64_t top = (image * s.h + v.low) * s.w, bottom = (image * s.h + v.high) * s.w;
    return {{(top + u.low) * s.ci, (top + u.high) * s.ci, (bottom + u.low) * s.ci, (bottom + u.high) * s.ci},
            {v.low_weight * u.low_weight, v.low_weight * u.high_weight, v.high_weight * u.low_weight,
             v.high_weight * u.high_weight},
            {v.low_slope * u.low_weight, v.low_slope * u.high_weight, v.high_slope * u.low_weight,
             v.high_slope * u.high_weight},
            {v.low_weight * u.low_slope, v.low_weight * u.high_slope, v.high_weight * u.low_slope,
             v.high_weight * u.high_slope}};
  }
  // 0, or NaN for a position that is not finite.
  OSPREY_HD A outside_value() const { return (y + x) * 0; }
};

// What all the functors share. Pixel `first` of the output is row 0 of the columns.
template <typename A>
struct DeformGrid {
  DeformShape s;
  const A* offset;
  const A* mask;  // null: 1 everywhere
  int64_t first;

  OSPREY_HD int pixel_of(int64_t row) const { return static_cast<int>(first + row); }
  OSPREY_HD int64_t image_of(int pixel) const { return pixel / (s.oh * s.ow); }
  OSPREY_HD int64_t tap_index(int pixel, int part, int tap) const {
    return static_cast<int64_t>((pixel * s.deform_groups + part) * s.taps() + tap);
  }
  OSPREY_HD DeformSample<A> sample(int pixel, int part, int tap) const {
    const int line = pixel / s.ow, ox = pixel - line * s.ow, oy = line % s.oh;
    const int ky = tap / s.kw, kx = tap - ky * s.kw;
    const A* o = offset + 2 * tap_index(pixel, part, tap);
    DeformSample<A> at;
    at.y = static_cast<A>(oy * s.stride_h - s.pad_h + ky * s.dilation_h) + o[0];
    at.x = static_cast<A>(ox * s.stride_w - s.pad_w + kx * s.dilation_w) + o[1];
    at.inside = at.y > -1 && at.x > -1 && at.y < static_cast<A>(s.h) && at.x < static_cast<A>(s.w);
    return at;
  }
  OSPREY_HD A mask_at(int pixel, int part, int tap) const {
    return mask ? mask[tap_index(pixel, part, tap)] : A(1);
  }

  // visit(part, tap, begin, end): the channels of [begin, end) that belong to each part, for each tap.
  template <typename Visit>
  OSPREY_HD void for_each_tap(int64_t begin, int64_t end, const Visit& visit) const {
    const int depth = s.part_channels();
    for (int c = static_cast<int>(begin); c < end;) {
      const int part = c / depth, stop = (part + 1) * depth;
      const int last = stop < end ? stop : static_cast<int>(end);
      for (int tap = 0; tap < s.taps(); ++tap) visit(part, tap, c, last);
      c = last;
    }
  }
};

// columns (rows, depth) = mask * bilinear(x).
template <typename T, typename A>
struct DeformColumns {
  DeformGrid<A> grid;
  const T* x;
  T* columns;

  OSPREY_HD void operator()(int64_t row, int64_t begin, int64_t end) const {
    const int pixel = grid.pixel_of(row);
    T* out = columns + row * grid.s.depth();
    grid.for_each_tap(begin, end, [&](int part, int tap, int c, int c_end) {
      const DeformSample<A> sample = grid.sample(pixel, part, tap);
      const A mask = grid.mask_at(pixel, part, tap);
      if (!sample.inside) {
        const T value = static_cast<T>(mask * sample.outside_value());
        grid.s.for_each_run(c, c_end, [&](int first, int n) {
          for (int i = 0; i < n; ++i) out[grid.s.column(tap, first) + i] = value;
        });
        return;
      }
      const auto corners = sample.corners(grid.s, grid.image_of(pixel));
      grid.s.for_each_run(c, c_end, [&](int first, int n) {
        blend(corners, first, mask, n, out + grid.s.column(tap, first));
      });
    });
  }

 private:
  OSPREY_HD void blend(const typename DeformSample<A>::Corners& corners, int first, A mask, int n,
                       T* target) const {
    const T *p = x + corners.at[0] + first, *q = x + corners.at[1] + first;
    const T *r = x + corners.at[2] + first, *s = x + corners.at[3] + first;
    const A a = corners.weight[0], b = corners.weight[1], c = corners.weight[2], d = corners.weight[3];
    OSPREY_SIMD_EACH
    for (int i = 0; i < n; ++i) {
      const A value = a * static_cast<A>(p[i]) + b * static_cast<A>(q[i]) + c * static_cast<A>(r[i]) +
                      d * static_cast<A>(s[i]);
      target[i] = static_cast<T>(mask * value);
    }
  }
};

// Adds the columns' gradient into grad_x, through scatter_rows.
template <typename T, typename A>
struct DeformInputGrad {
  static constexpr int kBandRows = 8;
  DeformGrid<A> grid;
  int images;
  const T* grad_columns;
  A* grad_x;

  // A part of grad_x: rows [begin, end) of an image.
  struct Band {
    int image, begin, end;

    OSPREY_HD bool may_hold(const DeformSample<A>& sample) const {
      return sample.y >= static_cast<A>(begin - 1) && sample.y < static_cast<A>(end);
    }
    OSPREY_HD bool holds(int64_t element, const DeformShape& s) const {
      const int64_t row = static_cast<int64_t>(s.w) * s.ci, first = static_cast<int64_t>(image) * s.h;
      return element >= (first + begin) * row && element < (first + end) * row;
    }
  };
  struct Everything {
    OSPREY_HD bool may_hold(const DeformSample<A>&) const { return true; }
    OSPREY_HD bool holds(int64_t, const DeformShape&) const { return true; }
  };

  OSPREY_HD void operator()(int64_t row, int64_t begin, int64_t end) const {
    add(row, begin, end, Everything());
  }

  OSPREY_HD int bands_of_image() const { return (grid.s.h + kBandRows - 1) / kBandRows; }
  OSPREY_HD int64_t bands() const { return static_cast<int64_t>(images) * bands_of_image(); }
  // Of all rows only those of the band's image.
  OSPREY_HD void add_band(int64_t index, int64_t rows, int64_t c_begin, int64_t c_end) const {
    const int image = static_cast<int>(index) / bands_of_image();
    const int y = static_cast<int>(index) % bands_of_image() * kBandRows;
    const Band band{image, y, y + kBandRows < grid.s.h ? y + kBandRows : grid.s.h};
    const int64_t pixels = static_cast<int64_t>(grid.s.oh) * grid.s.ow;
    const int64_t from = image * pixels - grid.first, to = from + pixels;
    for (int64_t row = from > 0 ? from : 0; row < (to < rows ? to : rows); ++row) {
      add(row, c_begin, c_end, band);
    }
  }

 private:
  template <typename Target>
  OSPREY_HD void add(int64_t row, int64_t begin, int64_t end, const Target& part_of_target) const {
    const int pixel = grid.pixel_of(row);
    const T* in = grad_columns + row * grid.s.depth();
    grid.for_each_tap(begin, end, [&](int part, int tap, int c, int c_end) {
      const DeformSample<A> sample = grid.sample(pixel, part, tap);
      if (!sample.inside || !part_of_target.may_hold(sample)) return;
      const auto corners = sample.corners(grid.s, grid.image_of(pixel));
      const A mask = grid.mask_at(pixel, part, tap);
      grid.s.for_each_run(c, c_end, [&](int first, int n) {
        const T* g = in + grid.s.column(tap, first);
        for (int k = 0; k < 4; ++k) {
          const A share = corners.weight[k] * mask;
          if (share == 0 || !part_of_target.holds(corners.at[k], grid.s)) continue;
          A* target = grad_x + corners.at[k] + first;
          OSPREY_SIMD_EACH
          for (int i = 0; i < n; ++i) atomic_add(target + i, share * static_cast<A>(g[i]));
        }
      });
    });
  }
};

// Row = (pixel, part, tap): the gradients by its offset and mask, sums over the part's channels. kLanes
// workers share a row, lane l taking every kLanes-th channel from l on.
template <typename T, typename A, int kLanes>
struct DeformOffsetGrad {
  DeformGrid<A> grid;
  const T *x, *grad_columns;
  A *grad_offset, *grad_mask;  // of the whole output, zeroed; grad_mask may be null

  // sums: by y, by x, by the mask.
  OSPREY_HD void add(int64_t row, int64_t lane, A* sums) const {
    const Place at = place(row);
    const DeformSample<A> sample = grid.sample(at.pixel, at.part, at.tap);
    if (!sample.inside) return;
    const auto corners = sample.corners(grid.s, grid.image_of(at.pixel));
    A dots[4] = {0, 0, 0, 0};
    add_dots(corners, grad_columns + at.local * grid.s.depth(), at.part, at.tap, static_cast<int>(lane),
             dots);
    for (int k = 0; k < 4; ++k) {
      sums[0] += corners.by_y[k] * dots[k];
      sums[1] += corners.by_x[k] * dots[k];
      sums[2] += corners.weight[k] * dots[k];
    }
  }
  OSPREY_HD void finish(int64_t row, const A* sums) const {
    const Place at = place(row);
    if (!grid.sample(at.pixel, at.part, at.tap).inside) return;
    const int64_t index = grid.tap_index(at.pixel, at.part, at.tap);
    const A mask = grid.mask ? grid.mask[index] : A(1);
    grad_offset[2 * index] = mask * sums[0];
    grad_offset[2 * index + 1] = mask * sums[1];
    if (grad_mask) grad_mask[index] = sums[2];
  }

 private:
  struct Place {
    int local, pixel, part, tap;
  };
  OSPREY_HD Place place(int64_t row) const {
    const int of_tap = static_cast<int>(row) / grid.s.taps(), tap = static_cast<int>(row) % grid.s.taps();
    const int local = of_tap / grid.s.deform_groups;
    return {local, grid.pixel_of(local), of_tap % grid.s.deform_groups, tap};
  }

  // dots[k] += sum over channels of the column's gradient times corner k.
  OSPREY_HD void add_dots(const typename DeformSample<A>::Corners& corners, const T* in, int part, int tap,
                          int lane, A* dots) const {
    const int begin = part * grid.s.part_channels(), end = begin + grid.s.part_channels();
    const T *p = x + corners.at[0], *q = x + corners.at[1], *r = x + corners.at[2], *s = x + corners.at[3];
    A d0 = 0, d1 = 0, d2 = 0, d3 = 0;
    if constexpr (kLanes == 1) {
      grid.s.for_each_run(begin, end, [&](int first, int n) {
        const T* gradient = in + grid.s.column(tap, first) - first;
        OSPREY_SIMD_DOTS
        for (int c = first; c < first + n; ++c) {
          const A g = static_cast<A>(gradient[c]);
          d0 += g * static_cast<A>(p[c]);
          d1 += g * static_cast<A>(q[c]);
          d2 += g * static_cast<A>(r[c]);
          d3 += g * static_cast<A>(s[c]);
        }
      });
    } else {
      for (int c = begin + lane; c < end; c += kLanes) {
        const A g = static_cast<A>(in[grid.s.column(tap, c)]);
        d0 += g * static_cast<A>(p[c]);
        d1 += g * static_cast<A>(q[c]);
        d2 += g * static_cast<A>(r[c]);
        d3 += g * static_cast<A>(s[c]);
      }
    }
    dots[0] += d0;
    dots[1] += d1;
    dots[2] += d2;
    dots[3] += d3;
  }
};

// Tensors of one call, on one device. x (n, h, w, ci); offset, mask (or undefined) in the compute dtype.
struct DeformArgs {
  DeformShape shape;
  Tensor x, offset, mask;
  int64_t first = 0;  // output pixel of row 0 of the columns

  int images() const { return static_cast<int>(x.dim(0)); }
  template <typename A>
  DeformGrid<A> grid() const {
    return {shape, offset.data<A>(), mask.defined() ? mask.data<A>() : nullptr, first};
  }
};

// columns (pixels, depth), in x's dtype, arrives uninitialised.
extern DeviceKernel<void(const DeformArgs& args, Tensor& columns)> deform_columns_kernel;
// Adds into the gradients, which are in the compute dtype and cover the whole input or output; a null one is
// not wanted. grad_mask only beside grad_offset.
extern DeviceKernel<void(const DeformArgs& args, const Tensor& grad_columns, Tensor* grad_x,
                         Tensor* grad_offset, Tensor* grad_mask)>
    deform_columns_backward_kernel;

}  // namespace osprey
