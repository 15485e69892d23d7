#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "core/base/parallel.h"
#include "core/tensor/convert.h"
#include "core/tensor/dtype.h"

// Walking (rows, channels) data, where every channel has parameters or sums of its own: batch and group norm,
// bias gradients. Few channels would make for short inner loops, so several rows are taken as one wide row,
// with the per-channel values repeated; halves are widened a wide row at a time.
namespace osprey {

class ChannelRows {
 public:
  ChannelRows(int64_t rows, int64_t channels)
      : rows_(rows),
        channels_(channels),
        repeat_(std::max<int64_t>(1, kWidth / std::max<int64_t>(channels, 1))) {}

  int64_t rows() const { return rows_; }
  int64_t channels() const { return channels_; }
  int64_t width() const { return repeat_ * channels_; }  // elements of a wide row

  // values (channels), repeated to the width.
  template <typename C>
  std::vector<C> repeated(const std::vector<C>& values) const {
    std::vector<C> wide;
    wide.reserve(static_cast<size_t>(width()));
    for (int64_t r = 0; r < repeat_; ++r) wide.insert(wide.end(), values.begin(), values.end());
    return wide;
  }

  // sums (width) added up to (channels).
  std::vector<double> folded(const std::vector<double>& sums) const {
    std::vector<double> total(static_cast<size_t>(channels_), 0.0);
    for (int64_t j = 0; j < width(); ++j) total[j % channels_] += sums[j];
    return total;
  }

  // The rows in at most kChunks pieces, a whole number of wide rows each (but the last). The cut depends on
  // the shape alone, so sums that are made by chunk do not depend on the number of threads.
  int64_t chunks() const { return std::clamp<int64_t>(rows_ * channels_ / kMinChunk, 1, kChunks); }

  // body(chunk, first element, end element) for every chunk, in parallel.
  template <typename Body>
  void for_each_chunk(const Body& body) const {
    const int64_t count = chunks(), wide_rows = (rows_ + repeat_ - 1) / repeat_;
    parallel_ranges(count, 1, [&](int64_t first, int64_t last) {
      for (int64_t chunk = first; chunk < last; ++chunk) {
        const int64_t begin = wide_rows * chunk / count * repeat_;
        const int64_t end = std::min(rows_, wide_rows * (chunk + 1) / count * repeat_);
        body(chunk, begin * channels_, end * channels_);
      }
    });
  }

 private:
  static constexpr int64_t kWidth = 256;
  static constexpr int64_t kChunks = 32;
  static constexpr int64_t kMinChunk = 8192;  // elements

  int64_t rows_, channels_, repeat_;
};

// The values at `from` in their compute type: themselves, or widened into `buffer`.
template <typename T>
const ComputeType<T>* load_row(const T* from, ComputeType<T>* buffer, int64_t n) {
  if constexpr (std::is_same_v<T, ComputeType<T>>) {
    return from;
  } else {
    widen(from, buffer, n);
    return buffer;
  }
}

// Calls body(inputs, result, count) for each wide row of elements [begin, end): inputs are pointers to the
// row of each of `in`, result is where its values go in the compute type.
template <typename T, size_t N, typename Body>
void map_wide_rows(int64_t width, int64_t begin, int64_t end, const std::array<const T*, N>& in, T* out,
                   const Body& body) {
  using C = ComputeType<T>;
  constexpr bool kWidens = !std::is_same_v<T, C>;
  std::vector<C> buffer(kWidens ? static_cast<size_t>(width) * (N + 1) : 0);
  for (int64_t i = begin; i < end; i += width) {
    const int64_t count = std::min(width, end - i);
    std::array<const C*, N> rows;
    for (size_t k = 0; k < N; ++k) rows[k] = load_row(in[k] + i, buffer.data() + k * width, count);
    if constexpr (kWidens) {
      C* result = buffer.data() + N * width;
      body(rows, result, count);
      narrow(result, out + i, count);
    } else {
      body(rows, out + i, count);
    }
  }
}

// Sums over rows: accumulate(inputs, sums, count) adds one wide row to `Sums` arrays of `width` partial sums.
// The partial sums run in the compute type over kBlock wide rows at most, then in double. Returns (channels)
// for each sum.
template <size_t Sums, typename T, size_t N, typename Accumulate>
std::array<std::vector<double>, Sums> sum_rows(const ChannelRows& rows, const std::array<const T*, N>& in,
                                               const Accumulate& accumulate) {
  using C = ComputeType<T>;
  constexpr int64_t kBlock = 64;
  const int64_t width = rows.width();
  std::vector<std::array<std::vector<double>, Sums>> partial(static_cast<size_t>(rows.chunks()));
  rows.for_each_chunk([&](int64_t chunk, int64_t begin, int64_t end) {
    auto& total = partial[chunk];
    for (auto& sums : total) sums.assign(static_cast<size_t>(width), 0.0);
    std::vector<C> buffer(static_cast<size_t>(width) * (N + Sums));
    std::array<C*, Sums> sums;
    for (size_t k = 0; k < Sums; ++k) sums[k] = buffer.data() + (N + k) * width;
    for (int64_t block = begin; block < end; block += kBlock * width) {
      std::fill(buffer.begin() + N * width, buffer.end(), C(0));
      const int64_t block_end = std::min(end, block + kBlock * width);
      for (int64_t i = block; i < block_end; i += width) {
        const int64_t count = std::min(width, block_end - i);
        std::array<const C*, N> values;
        for (size_t k = 0; k < N; ++k) values[k] = load_row(in[k] + i, buffer.data() + k * width, count);
        accumulate(values, sums, count);
      }
      for (size_t k = 0; k < Sums; ++k) {
        for (int64_t j = 0; j < width; ++j) total[k][j] += sums[k][j];
      }
    }
  });
  std::array<std::vector<double>, Sums> result;
  for (size_t k = 0; k < Sums; ++k) {
    std::vector<double> sums(static_cast<size_t>(width), 0.0);
    for (const auto& chunk : partial) {
      for (int64_t j = 0; j < width; ++j) sums[j] += chunk[k][j];
    }
    result[k] = rows.folded(sums);
  }
  return result;
}

}  // namespace osprey
