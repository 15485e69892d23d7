#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

// Numbers as the libraries compute with them: read from storage into f32, multiplied with f32 sums, rounded
// on the way back.
namespace osprey::emulator {

enum class Number { kF32, kF16, kBF16 };
inline size_t bytes_of(Number number) { return number == Number::kF32 ? 4 : 2; }

// `tf32`: f32 values lose all but 10 bits of their mantissa, as tensor cores take them.
std::vector<float> read_numbers(const void* data, size_t count, Number number, bool tf32);
// target = value * alpha + target * beta; with beta 0 the target is not read.
void write_numbers(const std::vector<float>& values, void* data, Number number, float alpha, float beta);

// c (m, n) += op(a) (m, k) op(b) (k, n), row-major with leading dimensions; op transposes.
struct Product {
  int64_t m, n, k;
  bool transpose_a, transpose_b;
  int64_t lda, ldb, ldc;
};
void add_product(const Product& p, const float* a, const float* b, float* c);

}  // namespace osprey::emulator
