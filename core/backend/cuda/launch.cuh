#pragma once

#include <algorithm>

#include "core/backend/cuda/runtime.h"

// The three launch primitives on CUDA; see core/backend/cpu/launch.h for their contract.
namespace osprey {
namespace internal {

template <typename F>
__global__ void for_kernel(int64_t n, F f) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) f(i);
}

// Neighbouring threads take neighbouring channels of a row: accesses coalesce.
template <typename F>
__global__ void rows_kernel(int64_t rows, int64_t channels, F f) {
  const int64_t n = rows * channels;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
    const int64_t row = i / channels;
    const int64_t c = i - row * channels;
    f(row, c, c + 1);
  }
}

constexpr int kThreads = 256;
inline unsigned blocks_for(int64_t n) {
  // Grid-stride loops: enough blocks to fill any device, not one thread an element.
  return static_cast<unsigned>(std::min<int64_t>((n + kThreads - 1) / kThreads, 1 << 16));
}

}  // namespace internal

template <typename F>
void parallel_for_cuda(Device device, int64_t n, const F& f) {
  if (n == 0) return;
  internal::for_kernel<<<internal::blocks_for(n), internal::kThreads, 0, current_stream(device)>>>(n, f);
  OSPREY_CUDA(cudaGetLastError());
}

template <typename F>
void parallel_rows_cuda(Device device, int64_t rows, int64_t channels, const F& f) {
  if (rows * channels == 0) return;
  internal::
      rows_kernel<<<internal::blocks_for(rows * channels), internal::kThreads, 0, current_stream(device)>>>(
          rows, channels, f);
  OSPREY_CUDA(cudaGetLastError());
}

template <typename F>
void scatter_rows_cuda(Device device, int64_t rows, int64_t channels, const F& f) {
  parallel_rows_cuda(device, rows, channels, f);
}

}  // namespace osprey
