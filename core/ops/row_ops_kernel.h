#pragma once

#include <cmath>
#include <cstdint>

#include "core/tensor/device_kernel.h"
#include "core/tensor/half.h"
#include "core/tensor/tensor.h"

namespace osprey {

extern DeviceKernel<void(const Tensor& x, const Tensor& weights, Tensor& out)> scale_rows_kernel;
extern DeviceKernel<void(const Tensor& x, Tensor& sums)> sum_of_rows_kernel;
extern DeviceKernel<void(const Tensor& x, int64_t columns, Tensor& largest)> max_of_rows_kernel;
extern DeviceKernel<void(const Tensor& x, Tensor& out)> with_zero_column_kernel;
extern DeviceKernel<void(const Tensor& labels, int64_t classes, Tensor& targets)> one_hot_kernel;
extern DeviceKernel<void(const Tensor& labels, int64_t ignored, Tensor& mask)> unless_equal_kernel;
extern DeviceKernel<void(const Tensor& scores, const Tensor& labels, int64_t k, Tensor& hits)>
    topk_hits_kernel;

// For parallel_rows.
template <typename T>
struct ScaleRow {
  const T *x, *weights;
  T* out;
  int64_t columns;
  OSPREY_HD void operator()(int64_t row, int64_t begin, int64_t end) const {
    for (int64_t c = begin; c < end; ++c) out[row * columns + c] = x[row * columns + c] * weights[row];
  }
};

template <typename T>
struct SumOfRow {
  const T* x;
  T* sums;
  int64_t columns;
  OSPREY_HD void operator()(int64_t row) const {
    T sum = 0;
    for (int64_t c = 0; c < columns; ++c) sum += x[row * columns + c];
    sums[row] = sum;
  }
};

struct MaxOfRow {
  const float* x;
  float* largest;
  int64_t stride, columns;
  OSPREY_HD void operator()(int64_t row) const {
    const float* values = x + row * stride;
    float best = values[0];
    for (int64_t c = 1; c < columns; ++c) best = values[c] > best ? values[c] : best;
    largest[row] = best;
  }
};

// For parallel_rows; columns: of the result.
struct PaddedRow {
  const float* x;
  float* out;
  int64_t columns;
  OSPREY_HD void operator()(int64_t row, int64_t begin, int64_t end) const {
    for (int64_t c = begin; c < end; ++c) {
      out[row * columns + c] = c + 1 < columns ? x[row * (columns - 1) + c] : 0.0f;
    }
  }
};

// For parallel_rows.
struct OneHotRow {
  const int64_t* labels;
  float* targets;
  int64_t classes;
  OSPREY_HD void operator()(int64_t row, int64_t begin, int64_t end) const {
    for (int64_t c = begin; c < end; ++c) targets[row * classes + c] = labels[row] == c ? 1.0f : 0.0f;
  }
};

struct UnlessEqual {
  const int64_t* labels;
  float* mask;
  int64_t ignored;
  OSPREY_HD void operator()(int64_t i) const { mask[i] = labels[i] == ignored ? 0.0f : 1.0f; }
};

struct TopkHit {
  const float* scores;
  const int64_t* labels;
  float* hits;
  int64_t classes, k;
  OSPREY_HD void operator()(int64_t row) const {
    const float* score = scores + row * classes;
    const int64_t label = labels[row];
    bool hit = label >= 0 && label < classes;
    int64_t ahead = 0;
    for (int64_t c = 0; c < classes && hit; ++c) {
      hit = !std::isnan(score[c]);
      ahead += score[c] > score[label] || (score[c] == score[label] && c < label);
    }
    hits[row] = hit && ahead < k ? 1.0f : 0.0f;
  }
};

template <typename T>
struct InverseOrZero {
  OSPREY_HD T operator()(T count) const { return count == 0 ? T(0) : 1 / count; }
};

}  // namespace osprey
