#pragma once

#include <cstdint>
#include <cstring>

#if defined(__F16C__) && !defined(__CUDACC__)
#include <immintrin.h>
#endif

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define OSPREY_HD __host__ __device__
#else
#define OSPREY_HD
#endif

namespace osprey {

// IEEE binary16 as storage: arithmetic happens in f32, conversion rounds to nearest even, |x| > 65519.99
// becomes inf. Bit-compatible with __half.
struct Half {
  uint16_t bits = 0;
  Half() = default;
  OSPREY_HD explicit Half(float value);
  OSPREY_HD explicit operator float() const;
  static Half from_bits(uint16_t bits) {
    Half h;
    h.bits = bits;
    return h;
  }
};

// bfloat16 as storage: the upper half of an f32, rounded to nearest even. Bit-compatible with __nv_bfloat16.
struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  OSPREY_HD explicit BFloat16(float value);
  OSPREY_HD explicit operator float() const;
};

static_assert(sizeof(Half) == 2 && sizeof(BFloat16) == 2);

namespace internal {

inline float bits_to_float(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline uint32_t float_to_bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// Portable conversions, for machines without F16C.
inline uint16_t float_to_half_bits(float value) {
  const uint32_t bits = float_to_bits(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return static_cast<uint16_t>(sign | 0x7E00u);   // NaN
  if (magnitude >= 0x477FF000u) return static_cast<uint16_t>(sign | 0x7C00u);  // rounds to inf
  if (magnitude < 0x38800000u) {                                               // subnormal or zero
    const float scaled = bits_to_float(magnitude) + 0.5f;  // the adder rounds to multiples of 2^-24
    return static_cast<uint16_t>(sign | (float_to_bits(scaled) - 0x3F000000u));
  }
  const uint32_t odd = (magnitude >> 13) & 1u;
  return static_cast<uint16_t>(sign | ((magnitude + 0xC8000FFFu + odd) >> 13));
}

inline float half_bits_to_float(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t exponent = (half >> 10) & 0x1Fu;
  const uint32_t mantissa = half & 0x3FFu;
  if (exponent == 0x1F) return bits_to_float(sign | 0x7F800000u | (mantissa << 13));
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  return bits_to_float(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

inline uint16_t float_to_bfloat16_bits(float value) {
  const uint32_t bits = float_to_bits(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);  // quiet NaN
  return static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace internal

OSPREY_HD inline Half::Half(float value) {
#if defined(__CUDA_ARCH__)
  bits = __half_as_ushort(__float2half_rn(value));
#elif defined(__F16C__) && !defined(__CUDACC__)
  bits = static_cast<uint16_t>(_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT));
#else
  bits = internal::float_to_half_bits(value);
#endif
}

OSPREY_HD inline Half::operator float() const {
#if defined(__CUDA_ARCH__)
  return __half2float(__ushort_as_half(bits));
#elif defined(__F16C__) && !defined(__CUDACC__)
  return _cvtsh_ss(bits);
#else
  return internal::half_bits_to_float(bits);
#endif
}

OSPREY_HD inline BFloat16::BFloat16(float value) {
#if defined(__CUDA_ARCH__)
  bits = __bfloat16_as_ushort(__float2bfloat16_rn(value));
#else
  bits = internal::float_to_bfloat16_bits(value);
#endif
}

OSPREY_HD inline BFloat16::operator float() const {
#if defined(__CUDA_ARCH__)
  return __bfloat162float(__ushort_as_bfloat16(bits));
#else
  return internal::bits_to_float(static_cast<uint32_t>(bits) << 16);
#endif
}

}  // namespace osprey
