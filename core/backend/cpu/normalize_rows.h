#pragma once

#include <cmath>

#include "core/backend/cpu/channel_rows.h"

// What batch norm and group norm have in common: per-channel statistics of (rows, channels) data, and passes
// over it with per-channel coefficients. Each pass reads and writes memory once; C is the compute type.
namespace osprey {

// Mean and sum of squared deviations of each channel.
struct Moments {
  std::vector<double> mean, m2;
};

namespace internal {

// Running moments of `width` columns, fed with blocks of rows: within a block (which stays in the cache) two
// passes in the compute type, between blocks the pairwise update of Chan, Golub & LeVeque (1979) in double.
// So a mean that is large against the deviation costs no accuracy, and memory is read once.
template <typename T>
class ColumnMoments {
 public:
  using C = ComputeType<T>;

  explicit ColumnMoments(int64_t width)
      : width_(width),
        count_(width, 0),
        mean_(width, 0),
        m2_(width, 0),
        block_mean_(width),
        block_m2_(width) {}

  // x: `rows` rows of `columns` elements (columns == width unless rows == 1).
  void add(const C* x, int64_t rows, int64_t columns) {
    std::fill_n(block_mean_.begin(), columns, C(0));
    std::fill_n(block_m2_.begin(), columns, C(0));
    C* mean = block_mean_.data();
    C* m2 = block_m2_.data();
    for (int64_t r = 0; r < rows; ++r) {
      const C* row = x + r * columns;
      for (int64_t j = 0; j < columns; ++j) mean[j] += row[j];
    }
    for (int64_t j = 0; j < columns; ++j) mean[j] /= static_cast<C>(rows);
    for (int64_t r = 0; r < rows; ++r) {
      const C* row = x + r * columns;
      for (int64_t j = 0; j < columns; ++j) m2[j] += (row[j] - mean[j]) * (row[j] - mean[j]);
    }
    for (int64_t j = 0; j < columns; ++j) merge(j, static_cast<double>(rows), mean[j], m2[j]);
  }

  void merge(int64_t j, double rows, double mean, double m2) {
    if (rows == 0) return;
    const double total = count_[j] + rows, delta = mean - mean_[j];
    mean_[j] += delta * rows / total;
    m2_[j] += m2 + delta * delta * count_[j] * rows / total;
    count_[j] = total;
  }

  // Folds another one in, its column j into this one's column j % width.
  void merge(const ColumnMoments& other) {
    for (int64_t j = 0; j < other.width_; ++j) {
      merge(j % width_, other.count_[j], other.mean_[j], other.m2_[j]);
    }
  }

  Moments result() const { return {mean_, m2_}; }

 private:
  int64_t width_;
  std::vector<double> count_, mean_, m2_;
  std::vector<C> block_mean_, block_m2_;
};

// relu(v), and dL/d(v) given y = relu(v). NaN passes through.
template <bool kRelu, typename C>
C activate(C v) {
  return kRelu && v < 0 ? C(0) : v;
}
template <bool kRelu, typename C>
C through(C g, C y) {
  return kRelu && y <= 0 ? C(0) : g;
}

}  // namespace internal

template <typename T>
Moments channel_moments(const ChannelRows& rows, const T* x) {
  using C = ComputeType<T>;
  constexpr int64_t kBlockElements = 16384;
  const int64_t width = rows.width(), block_rows = std::max<int64_t>(1, kBlockElements / width);
  std::vector<internal::ColumnMoments<T>> partial(rows.chunks(), internal::ColumnMoments<T>(width));
  rows.for_each_chunk([&](int64_t chunk, int64_t begin, int64_t end) {
    std::vector<C> buffer(std::is_same_v<T, C> ? 0 : block_rows * width);
    const int64_t whole = begin + (end - begin) / width * width;
    for (int64_t i = begin; i < whole; i += block_rows * width) {
      const int64_t count = std::min(block_rows * width, whole - i);
      partial[chunk].add(load_row(x + i, buffer.data(), count), count / width, width);
    }
    if (whole < end) partial[chunk].add(load_row(x + whole, buffer.data(), end - whole), 1, end - whole);
  });
  internal::ColumnMoments<T> total(rows.channels());
  for (const auto& chunk : partial) total.merge(chunk);
  return total.result();
}

// Coefficients of a pass, one per channel.
template <typename C>
struct Affine {
  std::vector<C> mean, scale, shift;
};

// y = (x - mean) scale + shift [+ residual] [, relu]. residual may be null.
template <bool kResidual, bool kRelu, typename T>
void normalize_rows_as(const ChannelRows& rows, const Affine<ComputeType<T>>& affine, const T* x,
                       const T* residual, T* y) {
  using C = ComputeType<T>;
  const auto mean = rows.repeated(affine.mean), scale = rows.repeated(affine.scale),
             shift = rows.repeated(affine.shift);
  const auto pass = [&](const auto& in, C* __restrict out, int64_t count) {
    const C *m = mean.data(), *s = scale.data(), *b = shift.data(), *v = in[0], *r = in[in.size() - 1];
    for (int64_t j = 0; j < count; ++j) {
      const C normalized = (v[j] - m[j]) * s[j] + b[j];
      out[j] = internal::activate<kRelu>(kResidual ? normalized + r[j] : normalized);
    }
  };
  rows.for_each_chunk([&](int64_t, int64_t begin, int64_t end) {
    if constexpr (kResidual) {
      map_wide_rows(rows.width(), begin, end, std::array{x, residual}, y, pass);
    } else {
      map_wide_rows(rows.width(), begin, end, std::array{x}, y, pass);
    }
  });
}

template <typename T>
void normalize_rows(const ChannelRows& rows, const Affine<ComputeType<T>>& affine, const T* x,
                    const T* residual, bool relu, T* y) {
  if (residual != nullptr) {
    relu ? normalize_rows_as<true, true>(rows, affine, x, residual, y)
         : normalize_rows_as<true, false>(rows, affine, x, residual, y);
  } else {
    relu ? normalize_rows_as<false, true>(rows, affine, x, residual, y)
         : normalize_rows_as<false, false>(rows, affine, x, residual, y);
  }
}

// Sums that every norm's gradient is made of: sum of g, and of g (x - mean). With y, g is first masked by the
// relu that made it.
struct GradientSums {
  std::vector<double> g, gx;
};

template <typename T>
GradientSums gradient_sums(const ChannelRows& rows, const std::vector<ComputeType<T>>& channel_mean,
                           const T* g, const T* x, const T* y) {
  using C = ComputeType<T>;
  const auto wide_mean = rows.repeated(channel_mean);
  const C* mean = wide_mean.data();
  const auto accumulate = [mean](const auto& in, const auto& sums, int64_t count) {
    constexpr bool kRelu = std::tuple_size_v<std::decay_t<decltype(in)>> == 3;
    const C *grad = in[0], *value = in[1], *out = in[in.size() - 1];
    C* __restrict sum_g = sums[0];
    C* __restrict sum_gx = sums[1];
    for (int64_t j = 0; j < count; ++j) {
      const C passed = internal::through<kRelu>(grad[j], out[j]);
      sum_g[j] += passed;
      sum_gx[j] += passed * (value[j] - mean[j]);
    }
  };
  auto sums = y ? sum_rows<2>(rows, std::array{g, x, y}, accumulate)
                : sum_rows<2>(rows, std::array{g, x}, accumulate);
  return {std::move(sums[0]), std::move(sums[1])};
}

// grad_x = scale g + slope (x - mean) + shift, g masked by relu when y is given.
template <typename C>
struct GradientAffine {
  std::vector<C> mean, scale, slope, shift;
};

template <typename T>
void normalize_rows_backward(const ChannelRows& rows, const GradientAffine<ComputeType<T>>& affine,
                             const T* g, const T* x, const T* y, T* grad_x) {
  using C = ComputeType<T>;
  const auto mean = rows.repeated(affine.mean), scale = rows.repeated(affine.scale),
             slope = rows.repeated(affine.slope), shift = rows.repeated(affine.shift);
  const auto pass = [&](const auto& in, C* __restrict out, int64_t count) {
    constexpr bool kRelu = std::tuple_size_v<std::decay_t<decltype(in)>> == 3;
    const C *grad = in[0], *value = in[1], *result = in[in.size() - 1];
    const C *m = mean.data(), *a = scale.data(), *b = slope.data(), *c = shift.data();
    for (int64_t j = 0; j < count; ++j) {
      out[j] = a[j] * internal::through<kRelu>(grad[j], result[j]) + b[j] * (value[j] - m[j]) + c[j];
    }
  };
  rows.for_each_chunk([&](int64_t, int64_t begin, int64_t end) {
    if (y != nullptr) {
      map_wide_rows(rows.width(), begin, end, std::array{g, x, y}, grad_x, pass);
    } else {
      map_wide_rows(rows.width(), begin, end, std::array{g, x}, grad_x, pass);
    }
  });
}

// grad_x = scale g: the gradient through fixed statistics. Does not need x.
template <typename T>
void scale_rows(const ChannelRows& rows, const std::vector<ComputeType<T>>& channel_scale, const T* g,
                const T* y, T* grad_x) {
  using C = ComputeType<T>;
  const auto scale = rows.repeated(channel_scale);
  const auto pass = [&](const auto& in, C* __restrict out, int64_t count) {
    constexpr bool kRelu = std::tuple_size_v<std::decay_t<decltype(in)>> == 2;
    const C *grad = in[0], *result = in[in.size() - 1], *a = scale.data();
    for (int64_t j = 0; j < count; ++j) out[j] = a[j] * internal::through<kRelu>(grad[j], result[j]);
  };
  rows.for_each_chunk([&](int64_t, int64_t begin, int64_t end) {
    if (y != nullptr) {
      map_wide_rows(rows.width(), begin, end, std::array{g, y}, grad_x, pass);
    } else {
      map_wide_rows(rows.width(), begin, end, std::array{g}, grad_x, pass);
    }
  });
}

}  // namespace osprey
