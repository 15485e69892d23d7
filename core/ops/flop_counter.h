#pragma once

#include <atomic>
#include <cstdint>

namespace osprey {

// Floating-point operations (2 per multiply-add) of convolutions and matrix products, forward and backward, since the
// process started. Reports of throughput take the difference of two readings.
inline std::atomic<int64_t>& dense_flops() {
  static std::atomic<int64_t> count{0};
  return count;
}

}  // namespace osprey
