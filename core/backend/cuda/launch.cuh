#pragma once

#include <algorithm>
#include <type_traits>

#include "core/backend/cuda/runtime.h"
#include "core/backend/dense_math.h"
#ifndef __CUDACC__
#include "core/backend/cuda/emulated_launch.h"
#endif

// The three launch primitives on CUDA; see core/backend/cpu/launch.h for their contract. Functors are copied
// to the device bit by bit: plain numbers and device pointers. An error of the launch itself is thrown here,
// one of the kernel's execution by a later call.
namespace osprey {

// a / b for a >= 0, b > 0. Division of 64-bit integers costs a GPU some eighty instructions, of 32-bit ones
// twenty.
OSPREY_HD inline int64_t divide(int64_t a, int64_t b) {
  if (((a | b) >> 32) == 0) return static_cast<uint32_t>(a) / static_cast<uint32_t>(b);
  return a / b;
}

namespace internal {

constexpr int kThreads = 256;
constexpr int kWarp = 32;

// What one thread of `threads` does; both builds run these, and differ in who counts the threads. Grid-stride
// loops: a thread takes several elements when there are many.
template <typename F>
struct ForThread {
  F f;
  int64_t n;
  OSPREY_HD void operator()(int64_t thread, int64_t threads) const {
    for (int64_t i = thread; i < n; i += threads) f(i);
  }
};

// Neighbouring threads take neighbouring channels of a row: accesses coalesce. A thread divides once and
// steps from then on.
template <typename F>
struct RowsThread {
  F f;
  int64_t rows, channels;
  OSPREY_HD void operator()(int64_t thread, int64_t threads) const {
    const int64_t row_step = divide(threads, channels), channel_step = threads - row_step * channels;
    int64_t row = divide(thread, channels), c = thread - row * channels;
    while (row < rows) {
      f(row, c, c + 1);
      row += row_step;
      c += channel_step;
      if (c >= channels) {
        c -= channels;
        ++row;
      }
    }
  }
};

template <typename F>
constexpr bool kHasBands = requires(const F& f) {
  f.bands();
};

template <typename F>
int64_t bands_of(const F& f) {
  if constexpr (kHasBands<F>) {
    return f.bands();
  } else {
    return 1;
  }
}

// A thread owns one channel of one band of the target and adds what the rows bring to it, in their order. A
// warp stays within a band: its threads take the same branches.
template <typename F>
struct OrderedThread {
  F f;
  int64_t rows, channels, bands;
  OSPREY_HD int64_t lanes() const { return (channels + kWarp - 1) / kWarp * kWarp; }
  OSPREY_HD void operator()(int64_t thread, int64_t) const {
    const int64_t band = divide(thread, lanes()), c = thread - band * lanes();
    if (band >= bands || c >= channels) return;
    if constexpr (kHasBands<F>) {
      f.add_band(band, rows, c, c + 1);
    } else {
      for (int64_t row = 0; row < rows; ++row) f(row, c, c + 1);
    }
  }
};

struct Grid {
  int64_t blocks;
  int block;     // threads of one
  bool adds_up;  // threads add into the same memory, through atomic_add
  int64_t threads() const { return blocks * block; }
};

// Enough blocks to fill any device.
inline Grid grid_for(int64_t n) {
  return {std::min<int64_t>((n + kThreads - 1) / kThreads, 1 << 13), kThreads, false};
}

#ifdef __CUDACC__

template <typename Thread>
__global__ void threads_kernel(Thread thread) {
  thread(static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x,
         static_cast<int64_t>(gridDim.x) * blockDim.x);
}

template <typename Thread>
void run_threads(Device device, const Grid& grid, const Thread& thread) {
  threads_kernel<<<static_cast<unsigned>(grid.blocks), static_cast<unsigned>(grid.block), 0,
                   current_stream(device)>>>(thread);
}

#else

template <typename Thread>
void run_threads(Device device, const Grid& grid, const Thread& thread) {
  // What other values left in the padding could look like an address. (Of a copy: where an array ends before
  // padding g++ 12 clears bytes that are none.)
  Thread arguments = thread;
  __builtin_clear_padding(&arguments);
  const int64_t threads = grid.threads();
  emulated_launch(current_stream(device), {__PRETTY_FUNCTION__, &arguments, sizeof arguments, grid.adds_up},
                  threads, [thread, threads](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) thread(i, threads);
                  });
}

#endif

// The op's own name is in the work context; the extents are here.
inline void check_launch(int64_t rows, int64_t channels) {
  const cudaError_t status = cudaGetLastError();
  if (status != cudaSuccess) check_cuda(status, str_cat("launch over ", rows, " x ", channels).c_str());
}

template <typename F>
void launch(Device device, int64_t n, const F& f) {
  run_threads(device, grid_for(n), ForThread<F>{f, n});
  check_launch(n, 1);
}

template <typename F>
void launch_rows(Device device, int64_t rows, int64_t channels, const F& f) {
  run_threads(device, grid_for(rows * channels), RowsThread<F>{f, rows, channels});
  check_launch(rows, channels);
}

template <typename F>
void launch_scatter(Device device, int64_t rows, int64_t channels, const F& f) {
  Grid grid = grid_for(rows * channels);
  grid.adds_up = true;
  run_threads(device, grid, RowsThread<F>{f, rows, channels});
  check_launch(rows, channels);
}

// Blocks of one warp: so little runs at once that it must spread over all processors.
template <typename F>
void launch_ordered(Device device, int64_t rows, int64_t channels, const F& f) {
  const OrderedThread<F> thread{f, rows, channels, bands_of(f)};
  run_threads(device, {thread.bands * thread.lanes() / kWarp, kWarp, false}, thread);
  check_launch(rows, channels);
}

template <typename F>
constexpr bool kIsKernelArgument = std::is_trivially_copyable_v<F> && sizeof(F) <= 4000;

}  // namespace internal

template <typename F>
void parallel_for_cuda(Device device, int64_t n, const F& f) {
  static_assert(internal::kIsKernelArgument<F>, "a kernel's arguments are copied as bytes");
  if (n > 0) internal::launch(device, n, f);
}

template <typename F>
void parallel_rows_cuda(Device device, int64_t rows, int64_t channels, const F& f) {
  static_assert(internal::kIsKernelArgument<F>, "a kernel's arguments are copied as bytes");
  if (rows > 0 && channels > 0) internal::launch_rows(device, rows, channels, f);
}

// Floating sums come out in the order in which atomic additions happen to arrive, unless the policy says
// `deterministic`: then in the order of the rows, at the price of little parallel work. A functor may give it
// more by cutting its target into disjoint parts:
//   int64_t bands() const;
//   void add_band(int64_t band, int64_t rows, int64_t c_begin, int64_t c_end) const;
// the latter adds what rows [0, rows), in order, bring to one part.
template <typename F>
void scatter_rows_cuda(Device device, int64_t rows, int64_t channels, const F& f) {
  static_assert(internal::kIsKernelArgument<F>, "a kernel's arguments are copied as bytes");
  if (rows == 0 || channels == 0) return;
  const bool ordered = dense_math_policy().deterministic;
  (ordered ? internal::launch_ordered<F> : internal::launch_scatter<F>)(device, rows, channels, f);
}

}  // namespace osprey
