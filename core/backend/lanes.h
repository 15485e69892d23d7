#pragma once

#include <cstdint>

#include "core/tensor/convert.h"
#include "core/tensor/dtype.h"

// Channels that a row functor handles at a time: enough for the CPU's vector units, one for a CUDA thread. A
// template parameter of the functor, because host code compiled by both compilers must not differ under one
// name.
namespace osprey {

inline constexpr int kCpuLanes = 64;
inline constexpr int kCudaLanes = 1;

// to[0, n) = from[0, n) in the compute type.
template <typename T>
OSPREY_HD inline void load_lanes(const T* from, ComputeType<T>* to, int64_t n) {
#if !defined(__CUDA_ARCH__)
  if constexpr (!std::is_same_v<T, ComputeType<T>>) {
    widen(from, to, n);
    return;
  }
#endif
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<ComputeType<T>>(from[i]);
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
