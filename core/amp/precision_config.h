#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/tensor/dtype.h"

namespace osprey {

// `fp16: {loss_scale, keep_fp32, max_consecutive_skips}` or `bf16: {keep_fp32, max_consecutive_skips}` of a
// config. The bare presence of either turns mixed precision on; both together are an error.
struct PrecisionConfig {
  DType dtype = DType::kF32;           // f32: neither key is there
  ConfigNode loss_scale;               // for LossScaler; null in bf16, which needs none
  std::vector<std::string> keep_fp32;  // globs over module paths

  bool mixed() const { return dtype != DType::kF32; }
  // `root` is the whole config.
  static PrecisionConfig from(const ConfigNode& root);
  // From the block itself.
  static PrecisionConfig from_block(const ConfigNode& block, DType dtype);
};

}  // namespace osprey
