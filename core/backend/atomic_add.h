#pragma once

#include "core/tensor/half.h"

namespace osprey {

// *target += value inside a scatter_rows functor. On CUDA atomic; on the CPU a plain addition, because
// scatter_rows_cpu gives each thread channels of its own.
template <typename T>
OSPREY_HD inline void atomic_add(T* target, T value) {
#if defined(__CUDA_ARCH__)
  ::atomicAdd(target, value);
#else
  *target += value;
#endif
}

}  // namespace osprey
