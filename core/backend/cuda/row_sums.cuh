#pragma once

#include "core/backend/cuda/launch.cuh"

// Sums over the elements of each row without atomics, so that they come out the same every time. kLanes
// threads share a row, and their loads coalesce; a second pass folds what they found, in order.
namespace osprey {
namespace internal {

// partial is (K, rows, kLanes).
template <int K, int kLanes, typename F>
struct SumLane {
  F f;
  int64_t rows;
  float* partial;
  OSPREY_HD void operator()(int64_t row, int64_t lane, int64_t) const {
    float sums[K] = {};
    f.add(row, lane, sums);
    for (int k = 0; k < K; ++k) partial[(k * rows + row) * kLanes + lane] = sums[k];
  }
};

template <int K, int kLanes, typename F>
struct FoldLanes {
  F f;
  int64_t rows;
  const float* partial;
  OSPREY_HD void operator()(int64_t row) const {
    float sums[K] = {};
    for (int k = 0; k < K; ++k) {
      for (int lane = 0; lane < kLanes; ++lane) sums[k] += partial[(k * rows + row) * kLanes + lane];
    }
    f.finish(row, sums);
  }
};

}  // namespace internal

// f.add(row, lane, sums) adds to float sums[K] what lane of kLanes has to bring, f.finish(row, sums) gets the
// totals.
template <int K, int kLanes, typename F>
void sum_rows_cuda(Device device, int64_t rows, const F& f) {
  if (rows == 0) return;
  Tensor partial({K, rows, kLanes}, DType::kF32, device);
  parallel_rows_cuda(device, rows, kLanes,
                     internal::SumLane<K, kLanes, F>{f, rows, partial.mutable_data<float>()});
  parallel_for_cuda(device, rows, internal::FoldLanes<K, kLanes, F>{f, rows, partial.data<float>()});
}

}  // namespace osprey
