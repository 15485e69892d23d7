#pragma once

#include <algorithm>
#include <type_traits>

#include "core/backend/cuda/runtime.h"
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

#ifdef __CUDACC__

constexpr int kThreads = 256;

// Grid-stride loops: enough blocks to fill any device, and several elements a thread when there are many.
inline unsigned blocks_for(int64_t n) {
  return static_cast<unsigned>(std::min<int64_t>((n + kThreads - 1) / kThreads, 1 << 13));
}

template <typename F>
__global__ void for_kernel(int64_t n, F f) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) f(i);
}

// Neighbouring threads take neighbouring channels of a row: accesses coalesce. A thread divides once and
// steps from then on.
template <typename F>
__global__ void rows_kernel(int64_t rows, int64_t channels, F f) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t row_step = divide(stride, channels), channel_step = stride - row_step * channels;
  int64_t row = divide(first, channels), c = first - row * channels;
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

// The op's own name is in the work context; the extents are here.
inline void check_launch(int64_t rows, int64_t channels) {
  const cudaError_t status = cudaGetLastError();
  if (status != cudaSuccess) check_cuda(status, str_cat("launch over ", rows, " x ", channels).c_str());
}

template <typename F>
void launch(Device device, int64_t n, const F& f) {
  for_kernel<<<blocks_for(n), kThreads, 0, current_stream(device)>>>(n, f);
  check_launch(n, 1);
}

template <typename F>
void launch_rows(Device device, int64_t rows, int64_t channels, const F& f) {
  rows_kernel<<<blocks_for(rows * channels), kThreads, 0, current_stream(device)>>>(rows, channels, f);
  check_launch(rows, channels);
}

// Through atomic_add.
template <typename F>
void launch_scatter(Device device, int64_t rows, int64_t channels, const F& f) {
  launch_rows(device, rows, channels, f);
}

#else

// body over [0, n), with f as the kernel's arguments.
template <typename F, typename Body>
void emulate(Device device, F f, int64_t n, const Body& body) {
  __builtin_clear_padding(&f);  // what other values left there could look like an address
  emulated_launch(current_stream(device), {__PRETTY_FUNCTION__, &f, sizeof f}, n, body);
  OSPREY_CUDA(cudaGetLastError());
}

template <typename F>
void launch(Device device, int64_t n, const F& f) {
  emulate(device, f, n, [f](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i);
  });
}

template <typename F>
void launch_rows(Device device, int64_t rows, int64_t channels, const F& f) {
  emulate(device, f, rows, [f, channels](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t c = 0; c < channels; ++c) f(row, c, c + 1);
    }
  });
}

// All rows of one channel in order, so that atomic_add needs no atomics on the host.
template <typename F>
void launch_scatter(Device device, int64_t rows, int64_t channels, const F& f) {
  emulate(device, f, channels, [f, rows](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      for (int64_t row = 0; row < rows; ++row) f(row, c, c + 1);
    }
  });
}

#endif

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

template <typename F>
void scatter_rows_cuda(Device device, int64_t rows, int64_t channels, const F& f) {
  static_assert(internal::kIsKernelArgument<F>, "a kernel's arguments are copied as bytes");
  if (rows > 0 && channels > 0) internal::launch_scatter(device, rows, channels, f);
}

}  // namespace osprey
