#pragma once

#include "core/ops/roi_align.h"
#include "models/roi_heads/roi_extractors/roi_extractor.h"

namespace osprey {

// Each RoI reads the one level that fits its size: Lin et al., "Feature Pyramid Networks", eq. (1).
//   roi_layer {type: RoIAlign, output_size, sampling_ratio, pool_mode, aligned}, out_channels,
//   featmap_strides, finest_scale (56): RoIs below twice this size, in pixels, read level 0.
class SingleRoIExtractor final : public RoIExtractor {
 public:
  explicit SingleRoIExtractor(const ConfigNode& cfg);
  Variable forward(const Variables& feats, const Tensor& rois) const override;
  size_t num_inputs() const override { return roi_layers_.size(); }

  // i64 (k): level of each RoI.
  Tensor map_roi_levels(const Tensor& rois) const;

 private:
  std::vector<RoIAlignParams> roi_layers_;  // one per level
  int64_t out_channels_;
  float finest_scale_;
};

}  // namespace osprey
