#pragma once

#include <cstdint>

#include "core/tensor/device_kernel.h"

// Work that goes row by row and has no shape in common with other ops, written once. A functor is an
// aggregate of plain numbers and pointers to memory of its device, has a name for messages, and is called
// with each row:
//
//   struct EncodeBox { static constexpr char kName[] = "bbox_encode"; const float* boxes; ...
//                      OSPREY_HD void operator()(int64_t row) const; };              // in X_kernel.h
//   OSPREY_ROWS_CPU(EncodeBox);    // in X_cpu.cc, which includes core/backend/cpu/rows_cpu.h
//   OSPREY_ROWS_CUDA(EncodeBox);   // in X.cu, which includes core/backend/cuda/rows_cuda.cuh
//   for_rows(device, count, EncodeBox{...});
namespace osprey {

using RowsSignature = void(Device device, int64_t rows, const void* f);  // a functor of type F

template <typename F>
struct RowsKernel {
  inline static DeviceKernel<RowsSignature> kernel{F::kName};
};

// f(row) for row in [0, rows), in any order, in parallel.
template <typename F>
void for_rows(Device device, int64_t rows, const F& f) {
  if (rows > 0) RowsKernel<F>::kernel(device, device, rows, &f);
}

}  // namespace osprey
