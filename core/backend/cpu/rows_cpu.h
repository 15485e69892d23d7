#pragma once

#include "core/backend/cpu/launch.h"
#include "core/ops/rows.h"

namespace osprey {

template <typename F>
void rows_cpu(Device, int64_t rows, const void* f) {
  parallel_for_cpu(rows, *static_cast<const F*>(f), /*grain=*/1024);
}

}  // namespace osprey

#define OSPREY_ROWS_CPU(F) \
  OSPREY_REGISTER_KERNEL(::osprey::RowsKernel<F>::kernel, ::osprey::DeviceType::kCPU, ::osprey::rows_cpu<F>)
