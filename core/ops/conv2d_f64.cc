#include "core/ops/conv2d_f64.h"

#include <algorithm>

#include "core/base/parallel.h"

namespace osprey {
namespace {

// Calls f(x_offset, tap) for every kernel tap whose input pixel lies inside the image: x_offset is that
// pixel's first element in x, tap counts (kh, kw).
template <typename F>
void for_each_tap(const Conv2dShape& s, int64_t n, int64_t oy, int64_t ox, const F& f) {
  const Conv2dParams& p = s.params;
  for (int64_t ky = 0; ky < s.kh; ++ky) {
    const int64_t y = oy * p.stride_h - p.pad_h + ky * p.dilation_h;
    if (y < 0 || y >= s.h) continue;
    for (int64_t kx = 0; kx < s.kw; ++kx) {
      const int64_t x = ox * p.stride_w - p.pad_w + kx * p.dilation_w;
      if (x < 0 || x >= s.w) continue;
      f(((n * s.h + y) * s.w + x) * s.ci, ky * s.kw + kx);
    }
  }
}

// Elements of the weight before (output channel o, tap); its ci / groups inputs follow.
int64_t weight_offset(const Conv2dShape& s, int64_t o, int64_t tap) {
  return (o * s.kh * s.kw + tap) * (s.ci / s.params.groups);
}

// First input channel of output channel o's group.
int64_t first_input(const Conv2dShape& s, int64_t o) {
  return o / (s.co / s.params.groups) * (s.ci / s.params.groups);
}

}  // namespace

void conv2d_forward_f64(const double* x, const double* weight, const double* bias, const Conv2dShape& s,
                        double* y) {
  const int64_t depth = s.ci / s.params.groups;
  parallel_ranges(s.n * s.oh * s.ow, 1, [&](int64_t begin, int64_t end) {
    for (int64_t pixel = begin; pixel < end; ++pixel) {
      const int64_t ox = pixel % s.ow, oy = pixel / s.ow % s.oh, n = pixel / s.ow / s.oh;
      for (int64_t o = 0; o < s.co; ++o) {
        double sum = bias ? bias[o] : 0;
        for_each_tap(s, n, oy, ox, [&](int64_t x_offset, int64_t tap) {
          const double* in = x + x_offset + first_input(s, o);
          const double* w = weight + weight_offset(s, o, tap);
          for (int64_t i = 0; i < depth; ++i) sum += in[i] * w[i];
        });
        y[pixel * s.co + o] = sum;
      }
    }
  });
}

void conv2d_backward_data_f64(const double* grad_y, const double* weight, const double* bias,
                              const Conv2dShape& s, double* grad_x) {
  const int64_t depth = s.ci / s.params.groups, plane = s.h * s.w * s.ci;
  parallel_ranges(s.n, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * plane; i < end * plane; ++i) grad_x[i] = bias ? bias[i % s.ci] : 0;
    for (int64_t pixel = begin * s.oh * s.ow; pixel < end * s.oh * s.ow; ++pixel) {
      const int64_t ox = pixel % s.ow, oy = pixel / s.ow % s.oh, n = pixel / s.ow / s.oh;
      for (int64_t o = 0; o < s.co; ++o) {
        const double g = grad_y[pixel * s.co + o];
        for_each_tap(s, n, oy, ox, [&](int64_t x_offset, int64_t tap) {
          double* out = grad_x + x_offset + first_input(s, o);
          const double* w = weight + weight_offset(s, o, tap);
          for (int64_t i = 0; i < depth; ++i) out[i] += g * w[i];
        });
      }
    }
  });
}

void conv2d_backward_weight_f64(const double* x, const double* grad_y, const Conv2dShape& s,
                                double* grad_weight) {
  const int64_t depth = s.ci / s.params.groups;
  parallel_ranges(s.co, 1, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      std::fill_n(grad_weight + weight_offset(s, o, 0), s.kh * s.kw * depth, 0.0);
      for (int64_t pixel = 0; pixel < s.n * s.oh * s.ow; ++pixel) {
        const int64_t ox = pixel % s.ow, oy = pixel / s.ow % s.oh, n = pixel / s.ow / s.oh;
        const double g = grad_y[pixel * s.co + o];
        for_each_tap(s, n, oy, ox, [&](int64_t x_offset, int64_t tap) {
          const double* in = x + x_offset + first_input(s, o);
          double* out = grad_weight + weight_offset(s, o, tap);
          for (int64_t i = 0; i < depth; ++i) out[i] += g * in[i];
        });
      }
    }
  });
}

}  // namespace osprey
