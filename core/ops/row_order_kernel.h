#pragma once

#include <bit>
#include <cstdint>

#include "core/tensor/device_kernel.h"
#include "core/tensor/tensor.h"

namespace osprey {

// An integer that grows as the score falls: sorting by it, ascending, ranks by score. Zeros are equal
// whatever their sign; NaN ranks with -inf.
OSPREY_HD inline uint32_t rank_key(float score) {
  if (score != score) score = -std::numeric_limits<float>::infinity();
  const uint32_t bits = std::bit_cast<uint32_t>(score == 0 ? 0.0f : score);
  return bits >> 31 ? bits : ~(bits | 0x80000000u);
}

// rows i64 (count), the head of the ranking. n, count > 0.
extern DeviceKernel<void(const Tensor& scores, Tensor& rows)> top_rows_kernel;
// As SelectedRows. n > 0.
extern DeviceKernel<void(const Tensor& flags, Tensor& rows, Tensor& count)> select_rows_kernel;

}  // namespace osprey
