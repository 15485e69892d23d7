#pragma once

#include <algorithm>

#include "core/backend/cuda/launch.cuh"

// Sums over the rows of (rows, columns) data without atomics, so that they come out the same every time.
// Neighbouring threads take neighbouring columns and, for narrow data, neighbouring rows: loads coalesce.
namespace osprey {
namespace internal {

// Chunk j of a column sums rows j, j + chunks, j + 2 chunks, ...; partial is (chunks, K, columns).
template <int K, typename Sum, typename Terms>
struct SumChunk {
  int64_t rows, columns, chunks;
  Terms terms;
  double* partial;
  OSPREY_HD void operator()(int64_t i) const {
    const int64_t chunk = i / columns, column = i - chunk * columns;
    Sum sums[K] = {};
    for (int64_t row = chunk; row < rows; row += chunks) terms(row, column, sums);
    for (int k = 0; k < K; ++k) partial[(chunk * K + k) * columns + column] = static_cast<double>(sums[k]);
  }
};

// (chunks, width) -> (folded, width).
struct FoldChunks {
  int64_t chunks, folded, width;
  const double* in;
  double* out;
  OSPREY_HD void operator()(int64_t i) const {
    const int64_t target = i / width, element = i - target * width;
    double sum = 0;
    for (int64_t chunk = target; chunk < chunks; chunk += folded) sum += in[chunk * width + element];
    out[i] = sum;
  }
};

}  // namespace internal

// terms(row, column, sums) adds what one element brings to Sum sums[K]. Returns f64 (K, columns) on the
// device: memory for the kernel that finishes the work, f64 as a tensor's dtype lives on the CPU only. rows,
// columns > 0.
template <int K, typename Sum, typename Terms>
Tensor sum_columns_cuda(Device device, int64_t rows, int64_t columns, const Terms& terms) {
  constexpr int64_t kThreads = 1 << 17;  // fill any device
  constexpr int64_t kMinRows = 8;        // worth a thread
  constexpr int64_t kFold = 32;
  int64_t chunks = std::clamp<int64_t>(kThreads / columns, 1, (rows + kMinRows - 1) / kMinRows);
  Tensor sums({chunks, K, columns}, DType::kF64, device);
  parallel_for_cuda(
      device, chunks * columns,
      internal::SumChunk<K, Sum, Terms>{rows, columns, chunks, terms, sums.mutable_data<double>()});
  while (chunks > 1) {
    const int64_t folded = (chunks + kFold - 1) / kFold, width = K * columns;
    Tensor next({folded, K, columns}, DType::kF64, device);
    parallel_for_cuda(
        device, folded * width,
        internal::FoldChunks{chunks, folded, width, sums.data<double>(), next.mutable_data<double>()});
    sums = next;
    chunks = folded;
  }
  return sums.reshape({K, columns});
}

// The simplest way to finish: totals rounded to f32, element by element.
struct RoundTotals {
  const double* totals;
  float* out;
  OSPREY_HD void operator()(int64_t i) const { out[i] = static_cast<float>(totals[i]); }
};

}  // namespace osprey
