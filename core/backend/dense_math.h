#pragma once

#include <cstdint>

namespace osprey {

// How the GPU's libraries may compute. Set once, from the config, before the first op: it belongs to the
// process as the libraries' handles do. The CPU has no such choices.
struct DenseMathPolicy {
  // f32 convolutions and matmuls on tensor cores with inputs cut to 10 bits of mantissa. Off: f32 means f32,
  // and the results agree with the CPU's.
  bool allow_tf32 = false;
  // Only algorithms that give the same bits every time.
  bool deterministic = false;
  // Measure the algorithms for each new shape (`cudnn_benchmark`) instead of asking the library's heuristics.
  bool benchmark = false;
  int64_t workspace_limit = int64_t{1} << 30;  // bytes that one convolution may use beside its operands
};
DenseMathPolicy& dense_math_policy();

}  // namespace osprey
