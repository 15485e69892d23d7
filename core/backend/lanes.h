#pragma once

#include <cstdint>

#include "core/tensor/convert.h"
#include "core/tensor/dtype.h"

// Channels that a row functor handles at a time: enough for the CPU's vector units, one for a CUDA thread. A
// template parameter of the functor, because host code compiled by both compilers must not differ under one
// name.
namespace osprey {

inline constexpr int kCpuLanes = 256;
inline constexpr int kCudaLanes = 1;

// The n values at `from` in their compute type: themselves, or widened into `buffer`.
template <typename T>
OSPREY_HD inline const ComputeType<T>* load_lanes(const T* from, ComputeType<T>* buffer, int64_t n) {
  if constexpr (std::is_same_v<T, ComputeType<T>>) {
    return from;
  } else {
#if defined(__CUDA_ARCH__)
    for (int64_t i = 0; i < n; ++i) buffer[i] = static_cast<ComputeType<T>>(from[i]);
#else
    widen(from, buffer, n);
#endif
    return buffer;
  }
}

// The way back; halves are rounded.
template <typename T>
OSPREY_HD inline void store_lanes(const ComputeType<T>* from, T* to, int64_t n) {
#if !defined(__CUDA_ARCH__)
  if constexpr (!std::is_same_v<T, ComputeType<T>>) {
    narrow(from, to, n);
    return;
  }
#endif
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(from[i]);
}

}  // namespace osprey
