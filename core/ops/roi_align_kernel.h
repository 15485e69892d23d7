#pragma once

#include <cmath>
#include <cstdint>

#include "core/backend/atomic_add.h"

// He et al., "Mask R-CNN", section 3, sample for sample as mmcv computes it. T stores (f64, f32, f16, bf16),
// A computes (f64, f32). A row is one bin of one RoI.
namespace osprey {

#if defined(__CUDACC__)
#define OSPREY_SIMD
#else
#define OSPREY_SIMD _Pragma("omp simd")
#endif

// Channels that a functor sums up at once: on the CPU the inner loop over them vectorises.
#if defined(__CUDA_ARCH__)
constexpr int64_t kRoILanes = 1;
#else
constexpr int64_t kRoILanes = 256;
#endif
constexpr int64_t kRoIRun = 4;  // samples along an axis whose weights are merged
constexpr int kMaxRoILevels = 8;
constexpr int64_t kRoIBandRows = 8;

// Sample i of a bin along one axis lies at start + (i + 0.5) * size / count. Those outside [begin, end) lie
// too far from the map to matter, so that a degenerate RoI costs no more than the map is large.
template <typename A>
struct BinSamples {
  A start, size, count;
  int64_t begin, end;
  OSPREY_HD A at(int64_t i) const { return start + (static_cast<A>(i) + A(0.5)) * size / count; }
};

// RoI extent [from, to) in feature pixels, cut into `bins`; samples of number `bin` over a map of `extent`.
template <typename A>
OSPREY_HD BinSamples<A> bin_samples(A from, A to, int64_t bins, int64_t bin, int64_t extent,
                                    int64_t sampling_ratio, bool aligned) {
  A length = to - from;
  if (!aligned && length < 1) length = 1;
  BinSamples<A> samples;
  samples.size = length / static_cast<A>(bins);
  samples.start = from + static_cast<A>(bin) * samples.size;
  samples.begin = samples.end = 0;
  if (sampling_ratio > 0) {
    samples.count = static_cast<A>(sampling_ratio);
    samples.end = sampling_ratio;
    return samples;
  }
  samples.count = std::ceil(samples.size);
  // Zero or negative size: no samples. Beyond 1e9 pixels f32 cannot tell the samples of a map apart.
  if (!(samples.count > 0) || samples.count > A(1e9)) return samples;
  const A per_pixel = samples.count / samples.size;
  const A first = (-1 - samples.start) * per_pixel - 2;
  const A last = (static_cast<A>(extent) - samples.start) * per_pixel + 2;
  const A end = last < samples.count ? last : samples.count;
  if (!(end > 0) || !(first < end)) return samples;
  samples.begin = first > 0 ? static_cast<int64_t>(first) : 0;
  samples.end = static_cast<int64_t>(std::ceil(end));
  return samples;
}

// The two pixels around a coordinate and their weights; `inside` is false more than a pixel off the map.
template <typename A>
struct AxisTap {
  int64_t low, high;
  A low_weight, high_weight;
  bool inside;
};

template <typename A>
OSPREY_HD AxisTap<A> axis_tap(A x, int64_t extent) {
  AxisTap<A> tap{0, 0, 0, 0, x >= -1 && x <= static_cast<A>(extent)};
  if (!tap.inside) return tap;
  if (x <= 0) x = 0;
  tap.low = static_cast<int64_t>(x);
  if (tap.low >= extent - 1) {
    tap.low = tap.high = extent - 1;
    x = static_cast<A>(tap.low);
  } else {
    tap.high = tap.low + 1;
  }
  tap.high_weight = x - static_cast<A>(tap.low);
  tap.low_weight = 1 - tap.high_weight;
  return tap;
}

// The pixels along one axis that a run of samples touches. Bilinear weights are products over the axes, so
// the average of a bin is a sum over pixels that reads each once, however many samples share it.
template <typename A>
struct AxisWeights {
  int count = 0;
  int64_t pixel[2 * kRoIRun];
  A weight[2 * kRoIRun];

  OSPREY_HD AxisWeights(const BinSamples<A>& samples, int64_t begin, int64_t end, int64_t extent) {
    for (int64_t i = begin; i < end; ++i) {
      const AxisTap<A> tap = axis_tap(samples.at(i), extent);
      if (!tap.inside) continue;
      add(tap.low, tap.low_weight);
      add(tap.high, tap.high_weight);
    }
  }

 private:
  OSPREY_HD void add(int64_t at, A amount) {
    if (amount == 0) return;
    for (int k = count - 1; k >= 0 && k >= count - 2; --k) {  // samples ascend: only the last two can match
      if (pixel[k] != at) continue;
      weight[k] += amount;
      return;
    }
    pixel[count] = at;
    weight[count++] = amount;
  }
};

// Offsets (in elements) of the four neighbours of a sample, channel 0, and their weights.
template <typename A>
struct SampleTap {
  int64_t offset[4];
  A weight[4];
};

struct RoILevel {
  void* map;  // (images, h, w, channels); gradients: f32 or f64
  int64_t images, h, w;
  double scale;
  int64_t sampling_ratio;
  bool aligned;
};

// One bin of one RoI on its map.
template <typename A>
struct RoIBin {
  int level;
  int64_t image, h, w, channels;
  BinSamples<A> y, x;

  // Divisor of an average.
  OSPREY_HD A count() const {
    const A all = y.count * x.count;
    return all > 1 ? all : A(1);
  }

  // visit(offset, weight) for every pixel that the sum of the samples consists of; offset in elements.
  template <typename Visit>
  OSPREY_HD void for_each_pixel(const Visit& visit) const {
    for (int64_t i = y.begin; i < y.end; i += kRoIRun) {
      const AxisWeights<A> v(y, i, i + kRoIRun < y.end ? i + kRoIRun : y.end, h);
      if (v.count == 0) continue;
      for (int64_t j = x.begin; j < x.end; j += kRoIRun) {
        const AxisWeights<A> u(x, j, j + kRoIRun < x.end ? j + kRoIRun : x.end, w);
        for (int a = 0; a < v.count; ++a) {
          const int64_t row = (image * h + v.pixel[a]) * w;
          for (int b = 0; b < u.count; ++b) visit((row + u.pixel[b]) * channels, v.weight[a] * u.weight[b]);
        }
      }
    }
  }

  // visit(index, tap) for every sample near the map; returns how many those are.
  template <typename Visit>
  OSPREY_HD int64_t for_each_sample(const Visit& visit) const {
    int64_t visited = 0;
    for (int64_t i = y.begin; i < y.end; ++i) {
      const AxisTap<A> v = axis_tap(y.at(i), h);
      if (!v.inside) continue;
      for (int64_t j = x.begin; j < x.end; ++j) {
        const AxisTap<A> u = axis_tap(x.at(j), w);
        if (!u.inside) continue;
        visit((i - y.begin) * (x.end - x.begin) + (j - x.begin), cross(v, u));
        ++visited;
      }
    }
    return visited;
  }

  // Whether samples may touch map rows [begin, end).
  OSPREY_HD bool touches_rows(int64_t begin, int64_t end) const {
    if (y.begin >= y.end) return false;
    const A first = y.at(y.begin), last = y.at(y.end - 1);  // an inverted RoI's descend
    return (first > last ? first : last) >= static_cast<A>(begin - 1) &&
           (first < last ? first : last) <= static_cast<A>(end);
  }

  // The sample that for_each_sample() called `index`.
  OSPREY_HD SampleTap<A> sample(int64_t index) const {
    const int64_t columns = x.end - x.begin;
    return cross(axis_tap(y.at(y.begin + index / columns), h), axis_tap(x.at(x.begin + index % columns), w));
  }

 private:
  OSPREY_HD SampleTap<A> cross(const AxisTap<A>& v, const AxisTap<A>& u) const {
    const int64_t low = (image * h + v.low) * w, high = (image * h + v.high) * w;
    return {{(low + u.low) * channels, (low + u.high) * channels, (high + u.low) * channels,
             (high + u.high) * channels},
            {v.low_weight * u.low_weight, v.low_weight * u.high_weight, v.high_weight * u.low_weight,
             v.high_weight * u.high_weight}};
  }
};

// Rows [y_begin, y_end) of one image's map on one level: elements [begin, end).
struct RoIBand {
  int level;
  int64_t image, y_begin, y_end, begin, end;

  OSPREY_HD bool holds(int64_t offset) const { return offset >= begin && offset < end; }
};

// What all four kernels share: the maps, the RoIs and the bins.
struct RoIGrid {
  RoILevel levels[kMaxRoILevels];
  int num_levels;
  const float* rois;         // (k, 5)
  const int64_t* roi_level;  // (k), or null: all on map 0
  int64_t channels, out_h, out_w;

  // Which map an RoI lies on; false when it gives zeros.
  OSPREY_HD bool find_map(int64_t roi, int& level, int64_t& image) const {
    const float* r = rois + roi * 5;
    const int64_t index = roi_level ? roi_level[roi] : 0;
    const float extent = (r[3] - r[1]) + (r[4] - r[2]);
    const bool finite = extent - extent == 0;
    if (!finite || index < 0 || index >= num_levels) return false;
    if (!(r[0] >= 0 && r[0] < static_cast<float>(levels[index].images))) return false;
    level = static_cast<int>(index);
    image = static_cast<int64_t>(r[0]);
    return true;
  }

  // False when the RoI gives zeros.
  template <typename A>
  OSPREY_HD bool locate(int64_t row, RoIBin<A>& bin) const {
    const int64_t roi = row / (out_h * out_w);
    if (!find_map(roi, bin.level, bin.image)) return false;
    const float* r = rois + roi * 5;
    const RoILevel& level = levels[bin.level];
    bin.h = level.h;
    bin.w = level.w;
    bin.channels = channels;
    const A scale = static_cast<A>(level.scale), shift = level.aligned ? A(0.5) : A(0);
    const int64_t cell = row % (out_h * out_w);
    bin.x = bin_samples<A>(static_cast<A>(r[1]) * scale - shift, static_cast<A>(r[3]) * scale - shift, out_w,
                           cell % out_w, level.w, level.sampling_ratio, level.aligned);
    bin.y = bin_samples<A>(static_cast<A>(r[2]) * scale - shift, static_cast<A>(r[4]) * scale - shift, out_h,
                           cell / out_w, level.h, level.sampling_ratio, level.aligned);
    return true;
  }

  // The bands of all maps, for gradients that are added up in a fixed order.
  OSPREY_HD int64_t bands_of(int level) const {
    return levels[level].images * ((levels[level].h + kRoIBandRows - 1) / kRoIBandRows);
  }
  OSPREY_HD int64_t bands() const {
    int64_t sum = 0;
    for (int level = 0; level < num_levels; ++level) sum += bands_of(level);
    return sum;
  }
  OSPREY_HD RoIBand band(int64_t index) const {
    RoIBand band{};
    while (index >= bands_of(band.level)) index -= bands_of(band.level++);
    const RoILevel& level = levels[band.level];
    const int64_t of_image = bands_of(band.level) / level.images, stride = level.w * channels;
    band.image = index / of_image;
    band.y_begin = index % of_image * kRoIBandRows;
    band.y_end = band.y_begin + kRoIBandRows < level.h ? band.y_begin + kRoIBandRows : level.h;
    band.begin = (band.image * level.h + band.y_begin) * stride;
    band.end = (band.image * level.h + band.y_end) * stride;
    return band;
  }

  // Whether an RoI may touch the band; a little generous, more so where its coordinates are coarse.
  OSPREY_HD bool may_touch(int64_t roi, const RoIBand& band) const {
    int level = 0;
    int64_t image = 0;
    if (!find_map(roi, level, image) || level != band.level || image != band.image) return false;
    const float scale = static_cast<float>(levels[level].scale);
    const float y1 = rois[roi * 5 + 2] * scale, y2 = rois[roi * 5 + 4] * scale;
    const float slack = 3 + 1e-5f * (std::abs(y1) + std::abs(y2));
    return (y1 > y2 ? y1 : y2) + slack >= static_cast<float>(band.y_begin) &&
           (y1 < y2 ? y1 : y2) - slack <= static_cast<float>(band.y_end);
  }

  // visit(row, bin), in order, for the rows among [0, rows) that may add to the band.
  template <typename A, typename Visit>
  OSPREY_HD void for_each_bin(const RoIBand& band, int64_t rows, const Visit& visit) const {
    const int64_t cells = out_h * out_w;
    for (int64_t roi = 0; roi * cells < rows; ++roi) {
      if (!may_touch(roi, band)) continue;
      for (int64_t row = roi * cells; row < (roi + 1) * cells; ++row) {
        RoIBin<A> bin;
        if (locate(row, bin) && bin.touches_rows(band.y_begin, band.y_end)) visit(row, bin);
      }
    }
  }
};

// Adds weighted pixels to sums of n channels, four at a time: the sums are read and written less often.
template <typename T, typename A>
struct PixelSum {
  const T* map;
  int64_t n;
  A* sum;
  int pending = 0;
  const T* pixel[4];
  A weight[4];

  OSPREY_HD PixelSum(const T* map_, int64_t n_, A* sum_) : map(map_), n(n_), sum(sum_) {}

  OSPREY_HD void add(int64_t offset, A amount) {
    pixel[pending] = map + offset;
    weight[pending++] = amount;
    if (pending == 4) add_four();
  }

  OSPREY_HD void add_four() {
    const T *p = pixel[0], *q = pixel[1], *r = pixel[2], *s = pixel[3];
    const A a = weight[0], b = weight[1], c = weight[2], d = weight[3];
    OSPREY_SIMD
    for (int64_t i = 0; i < n; ++i) {
      sum[i] += a * static_cast<A>(p[i]) + b * static_cast<A>(q[i]) + c * static_cast<A>(r[i]) +
                d * static_cast<A>(s[i]);
    }
    pending = 0;
  }

  // After the last add().
  OSPREY_HD void add_rest() {
    for (int k = 0; k < pending; ++k) {
      const T* p = pixel[k];
      const A a = weight[k];
      OSPREY_SIMD
      for (int64_t i = 0; i < n; ++i) sum[i] += a * static_cast<A>(p[i]);
    }
    pending = 0;
  }
};

template <typename T, typename A>
struct RoIAlignAverage {
  RoIGrid grid;
  T* out;

  OSPREY_HD void operator()(int64_t row, int64_t begin, int64_t end) const {
    RoIBin<A> bin;
    const bool found = grid.locate(row, bin);
    A sum[kRoILanes];
    for (int64_t c = begin; c < end; c += kRoILanes) {
      const int64_t n = end - c < kRoILanes ? end - c : kRoILanes;
      for (int64_t i = 0; i < n; ++i) sum[i] = 0;
      A divisor = 1;
      if (found) {
        PixelSum<T, A> pixels(static_cast<const T*>(grid.levels[bin.level].map) + c, n, sum);
        bin.for_each_pixel([&](int64_t offset, A weight) { pixels.add(offset, weight); });
        pixels.add_rest();
        divisor = bin.count();
      }
      T* target = out + row * grid.channels + c;
      OSPREY_SIMD
      for (int64_t i = 0; i < n; ++i) target[i] = static_cast<T>(sum[i] / divisor);
    }
  }
};

// Adds the bins' gradients into the maps, which are of type A here; through scatter_rows.
template <typename A, typename Gradient>
struct RoIScatter {
  RoIGrid grid;
  Gradient gradient;  // adds what one bin brings to those places that are wanted, by their offset

  OSPREY_HD void operator()(int64_t row, int64_t begin, int64_t end) const {
    RoIBin<A> bin;
    if (!grid.locate(row, bin)) return;
    gradient.add(grid, row, bin, begin, end, [](int64_t) { return true; });
  }

  OSPREY_HD int64_t bands() const { return grid.bands(); }
  OSPREY_HD void add_band(int64_t index, int64_t rows, int64_t begin, int64_t end) const {
    const RoIBand band = grid.band(index);
    grid.for_each_bin<A>(band, rows, [&](int64_t row, const RoIBin<A>& bin) {
      gradient.add(grid, row, bin, begin, end, [&](int64_t offset) { return band.holds(offset); });
    });
  }
};

template <typename T, typename A>
struct RoIAlignAverageGrad {
  const T* grad;

  template <typename Wanted>
  OSPREY_HD void add(const RoIGrid& grid, int64_t row, const RoIBin<A>& bin, int64_t begin, int64_t end,
                     const Wanted& wanted) const {
    const T* g = grad + row * grid.channels;
    A* map = static_cast<A*>(grid.levels[bin.level].map);
    const A divisor = bin.count();
    bin.for_each_pixel([&](int64_t offset, A weight) {
      if (!wanted(offset)) return;
      const A share = weight / divisor;
      A* target = map + offset;
      OSPREY_SIMD
      for (int64_t c = begin; c < end; ++c) atomic_add(target + c, share * static_cast<A>(g[c]));
    });
  }
};

// argmax: index of the winning sample, -1 where nothing or a sample off the map (value 0) won.
template <typename T, typename A>
struct RoIAlignMax {
  RoIGrid grid;
  T* out;
  int32_t* argmax;

  OSPREY_HD void operator()(int64_t row, int64_t begin, int64_t end) const {
    RoIBin<A> bin;
    const bool found = grid.locate(row, bin);
    for (int64_t c = begin; c < end; ++c) {
      A best = 0;
      int32_t winner = -1;
      if (found) {
        const T* map = static_cast<const T*>(grid.levels[bin.level].map) + c;
        const int64_t visited = bin.for_each_sample([&](int64_t index, const SampleTap<A>& tap) {
          A value = 0;
          for (int k = 0; k < 4; ++k) value += tap.weight[k] * static_cast<A>(map[tap.offset[k]]);
          if (winner >= 0 && !(value > best) && value == value) return;
          best = value;
          winner = static_cast<int32_t>(index);
        });
        const bool some_off = static_cast<A>(visited) < bin.y.count * bin.x.count;
        if (some_off && best < 0) {
          best = 0;
          winner = -1;
        }
      }
      out[row * grid.channels + c] = static_cast<T>(best);
      argmax[row * grid.channels + c] = winner;
    }
  }
};

template <typename T, typename A>
struct RoIAlignMaxGrad {
  const T* grad;
  const int32_t* argmax;

  template <typename Wanted>
  OSPREY_HD void add(const RoIGrid& grid, int64_t row, const RoIBin<A>& bin, int64_t begin, int64_t end,
                     const Wanted& wanted) const {
    A* map = static_cast<A*>(grid.levels[bin.level].map);
    for (int64_t c = begin; c < end; ++c) {
      const int32_t winner = argmax[row * grid.channels + c];
      if (winner < 0) continue;
      const SampleTap<A> tap = bin.sample(winner);
      const A g = static_cast<A>(grad[row * grid.channels + c]);
      for (int corner = 0; corner < 4; ++corner) {
        if (!wanted(tap.offset[corner])) continue;
        atomic_add(map + tap.offset[corner] + c, tap.weight[corner] * g);
      }
    }
  }
};

}  // namespace osprey
