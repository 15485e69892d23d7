#include "core/amp/precision_config.h"

namespace osprey {

PrecisionConfig PrecisionConfig::from(const ConfigNode& root) {
  // Python configs switch fp16 off with `fp16 = None`; `fp16: {}` switches it on.
  const ConfigNode fp16 = root.find("fp16"), bf16 = root.find("bf16");
  if (!fp16.is_null() && !bf16.is_null()) bf16.fail("fp16 and bf16 exclude each other");
  if (!fp16.is_null()) return from_block(fp16, DType::kF16);
  if (!bf16.is_null()) return from_block(bf16, DType::kBF16);
  return {};
}

PrecisionConfig PrecisionConfig::from_block(const ConfigNode& block, DType dtype) {
  PrecisionConfig precision;
  precision.dtype = dtype;
  if (!block.is_map()) block.fail("must be a dict, e.g. fp16: {loss_scale: 512.}");
  precision.keep_fp32 = block.get("keep_fp32", std::vector<std::string>{});
  if (dtype == DType::kF16) precision.loss_scale = block.find("loss_scale");
  return precision;
}

}  // namespace osprey
