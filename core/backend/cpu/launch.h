#pragma once

#include <algorithm>
#include <cstdint>

#include "core/base/parallel.h"

// The three launch primitives on the CPU. A hand-written kernel is a functor (host and device) behind one of
// them; its CUDA side launches the same functor through core/backend/cuda/launch.cuh.
namespace osprey {

// f(i) for i in [0, n), in any order, in parallel.
template <typename F>
void parallel_for_cpu(int64_t n, const F& f, int64_t grain = 4096) {
  parallel_ranges(n, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i);
  });
}

// f(row, c_begin, c_end) for every row; the calls for one row cover [0, channels). Here a row gets all its
// channels, so that the functor's inner loop vectorises; on CUDA a thread gets one channel. Rows must not
// write to each other's memory.
template <typename F>
void parallel_rows_cpu(int64_t rows, int64_t channels, const F& f) {
  const int64_t grain = std::max<int64_t>(1, 4096 / std::max<int64_t>(channels, 1));
  parallel_ranges(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) f(row, int64_t{0}, channels);
  });
}

// The same for functors whose rows add into overlapping memory (through atomic_add). The CPU splits the
// channels over threads and walks the rows in order: no races, and the sum is bitwise the same for any number
// of threads.
template <typename F>
void scatter_rows_cpu(int64_t rows, int64_t channels, const F& f) {
  constexpr int64_t kLine = 16;  // channels of one cache line in f32: threads do not share lines
  const int64_t blocks = (channels + kLine - 1) / kLine;
  const int64_t grain = rows * kLine >= 4096 ? 1 : blocks;
  parallel_ranges(blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = 0; row < rows; ++row) f(row, begin * kLine, std::min(end * kLine, channels));
  });
}

}  // namespace osprey
