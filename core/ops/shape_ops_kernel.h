#pragma once

#include "core/backend/atomic_add.h"
#include "core/tensor/device_kernel.h"
#include "core/tensor/dtype.h"
#include "core/tensor/tensor.h"

namespace osprey {

// Row i of out = row index[i] of in.
template <typename T>
struct GatherRows {
  const T* in;
  const int64_t* index;
  int64_t width;
  T* out;
  OSPREY_HD void operator()(int64_t row, int64_t c_begin, int64_t c_end) const {
    const T* from = in + index[row] * width;
    for (int64_t c = c_begin; c < c_end; ++c) out[row * width + c] = from[c];
  }
};

// Its gradient, for scatter_rows: row index[i] of sum += row i of grad. Sums run in the compute type.
template <typename T>
struct ScatterAddRows {
  const T* grad;
  const int64_t* index;
  int64_t width;
  ComputeType<T>* sum;
  OSPREY_HD void operator()(int64_t row, int64_t c_begin, int64_t c_end) const {
    ComputeType<T>* to = sum + index[row] * width;
    for (int64_t c = c_begin; c < c_end; ++c) {
      atomic_add(to + c, static_cast<ComputeType<T>>(grad[row * width + c]));
    }
  }
};

// in (rows, width) with width = groups * k, `inner` rows to one index: out (rows, k) takes columns
// [group k, (group + 1) k) with group = index[row / inner].
template <typename T>
struct SelectGroup {
  const T* in;
  const int64_t* index;
  int64_t inner, width, k;
  T* out;
  OSPREY_HD void operator()(int64_t row, int64_t c_begin, int64_t c_end) const {
    const T* from = in + row * width + index[row / inner] * k;
    for (int64_t c = c_begin; c < c_end; ++c) out[row * k + c] = from[c];
  }
};

// Its gradient: writes every column, zero outside the group.
template <typename T>
struct SelectGroupGrad {
  const T* grad;
  const int64_t* index;
  int64_t inner, width, k;
  T* grad_in;
  OSPREY_HD void operator()(int64_t row, int64_t c_begin, int64_t c_end) const {
    const int64_t first = index[row / inner] * k;
    for (int64_t c = c_begin; c < c_end; ++c) {
      const bool inside = c >= first && c < first + k;
      grad_in[row * width + c] = inside ? grad[row * k + c - first] : T{};
    }
  }
};

// Indices are i64, in range, on the tensors' device; nothing is empty.
extern DeviceKernel<void(const Tensor& x, const Tensor& indices, Tensor& out)> gather_rows_kernel;
// Adds into `sum` (compute dtype), which arrives zeroed.
extern DeviceKernel<void(const Tensor& grad, const Tensor& indices, Tensor& sum)> scatter_add_rows_kernel;
// x (rows, groups * k), out (rows, k), rows a multiple of the number of indices.
extern DeviceKernel<void(const Tensor& x, const Tensor& indices, Tensor& out)> select_group_kernel;
extern DeviceKernel<void(const Tensor& grad, const Tensor& indices, Tensor& grad_x)>
    select_group_backward_kernel;

}  // namespace osprey
