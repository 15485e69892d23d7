#include "tests/cuda_emulator/matrices.h"

#include <oneapi/dnnl/dnnl.h>

#include <cstring>

#include "core/base/parallel.h"
#include "core/tensor/half.h"
#include "tests/cuda_emulator/fail.h"

namespace osprey::emulator {
namespace {

// Round to nearest even at 10 bits of mantissa.
float as_tf32(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if ((bits & 0x7F800000u) != 0x7F800000u) bits = (bits + 0xFFFu + ((bits >> 13) & 1u)) & ~0x1FFFu;
  std::memcpy(&value, &bits, 4);
  return value;
}

template <typename Body>
void each(size_t count, const Body& body) {
  parallel_ranges(static_cast<int64_t>(count), 1 << 14, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i);
  });
}

template <typename T>
void store(const std::vector<float>& values, T* out, float alpha, float beta) {
  each(values.size(), [&](int64_t i) {
    const float old = beta == 0 ? 0 : beta * static_cast<float>(out[i]);
    out[i] = static_cast<T>(values[i] * alpha + old);
  });
}

}  // namespace

std::vector<float> read_numbers(const void* data, size_t count, Number number, bool tf32) {
  std::vector<float> values(count);
  switch (number) {
    case Number::kF32:
      each(count, [&](int64_t i) {
        const float value = static_cast<const float*>(data)[i];
        values[i] = tf32 ? as_tf32(value) : value;
      });
      break;
    case Number::kF16:
      each(count, [&](int64_t i) { values[i] = static_cast<float>(static_cast<const Half*>(data)[i]); });
      break;
    case Number::kBF16:
      each(count, [&](int64_t i) { values[i] = static_cast<float>(static_cast<const BFloat16*>(data)[i]); });
      break;
  }
  return values;
}

void write_numbers(const std::vector<float>& values, void* data, Number number, float alpha, float beta) {
  switch (number) {
    case Number::kF32:
      return store(values, static_cast<float*>(data), alpha, beta);
    case Number::kF16:
      return store(values, static_cast<Half*>(data), alpha, beta);
    case Number::kBF16:
      return store(values, static_cast<BFloat16*>(data), alpha, beta);
  }
}

void add_product(const Product& p, const float* a, const float* b, float* c) {
  if (dnnl_sgemm(p.transpose_a ? 'T' : 'N', p.transpose_b ? 'T' : 'N', p.m, p.n, p.k, 1.0f, a, p.lda, b,
                 p.ldb, 1.0f, c, p.ldc) != dnnl_success) {
    fail("dnnl_sgemm failed inside the double");
  }
}

}  // namespace osprey::emulator
