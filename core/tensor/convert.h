#pragma once

#include <cstdint>

#include "core/tensor/half.h"

#if defined(__AVX2__) && defined(__F16C__) && !defined(__CUDACC__)
#define OSPREY_VECTOR_CONVERT 1
#endif

// Bulk conversions between the storage types and f32 on the CPU, eight at a time: an elementwise kernel on
// half tensors works on blocks that it widens first, because compilers do not vectorise the scalar
// conversion.
namespace osprey {

inline void widen(const float* from, float* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = from[i];
}
inline void narrow(const float* from, float* to, int64_t n) { widen(from, to, n); }

inline void widen(const Half* from, float* to, int64_t n) {
  int64_t i = 0;
#ifdef OSPREY_VECTOR_CONVERT
  for (; i + 8 <= n; i += 8) {
    const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(half));
  }
#endif
  for (; i < n; ++i) to[i] = static_cast<float>(from[i]);
}

inline void narrow(const float* from, Half* to, int64_t n) {
  int64_t i = 0;
#ifdef OSPREY_VECTOR_CONVERT
  for (; i + 8 <= n; i += 8) {
    const __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), half);
  }
#endif
  for (; i < n; ++i) to[i] = static_cast<Half>(from[i]);
}

// bfloat16 is integer arithmetic on f32's bits: plain loops vectorise.
inline void widen(const BFloat16* from, float* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]);
}
inline void narrow(const float* from, BFloat16* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<BFloat16>(from[i]);
}

}  // namespace osprey
