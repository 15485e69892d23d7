#pragma once

#include <cstdint>
#include <cstring>

#include "core/tensor/device_kernel.h"
#include "core/tensor/tensor.h"

namespace osprey {

// What is counted of a tensor, as i64: elements by the 8 exponent bits of f32 (255: inf and NaN), then these.
constexpr int64_t kZeros = 256;     // also among exponent 0
constexpr int64_t kNans = 257;      // also among exponent 255
constexpr int64_t kLargest = 258;   // bits of the largest finite magnitude: they order like the numbers
constexpr int64_t kSmallest = 259;  // bits of the smallest that is not 0
constexpr int64_t kMagnitudeCells = 260;
constexpr int64_t kNoSmallest = 0x7F800000;  // above every finite magnitude

OSPREY_HD inline void count_magnitude(float value, int64_t* cells) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  bits &= 0x7FFFFFFFu;
  ++cells[bits >> 23];
  if (bits == 0) {
    ++cells[kZeros];
  } else if (bits > 0x7F800000u) {
    ++cells[kNans];
  } else if (bits < 0x7F800000u) {
    if (bits > cells[kLargest]) cells[kLargest] = bits;
    if (bits < cells[kSmallest]) cells[kSmallest] = bits;
  }
}

// One cell of a partial count joins the total.
OSPREY_HD inline void join_magnitude(int64_t cell, int64_t partial, int64_t* total) {
  if (cell == kLargest) {
    *total = partial > *total ? partial : *total;
  } else if (cell == kSmallest) {
    *total = partial < *total ? partial : *total;
  } else {
    *total += partial;
  }
}

// value: f32, f16 or bf16, not empty; cells: i64 (kMagnitudeCells), overwritten.
extern DeviceKernel<void(const Tensor& value, Tensor& cells)> magnitudes_kernel;

}  // namespace osprey
