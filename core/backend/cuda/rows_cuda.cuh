#pragma once

#include "core/backend/cuda/launch.cuh"
#include "core/ops/rows.h"

namespace osprey {

template <typename F>
void rows_cuda(Device device, int64_t rows, const void* f) {
  parallel_for_cuda(device, rows, *static_cast<const F*>(f));
}

}  // namespace osprey

#define OSPREY_ROWS_CUDA(F) \
  OSPREY_REGISTER_KERNEL(::osprey::RowsKernel<F>::kernel, ::osprey::DeviceType::kCUDA, ::osprey::rows_cuda<F>)
