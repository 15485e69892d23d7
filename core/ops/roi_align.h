#pragma once

#include "core/autograd/variable.h"

namespace osprey {

struct RoIAlignParams {
  int64_t out_h = 7, out_w = 7;
  double spatial_scale = 1.0;  // feature pixels per image pixel
  int64_t sampling_ratio = 0;  // samples per bin and axis; 0 = ceil(roi extent / bins)
  bool aligned = true;    // shift by half a pixel, no minimum size (He et al. 2017; aligned as in detectron2)
  bool max_pool = false;  // pool_mode 'max' instead of 'avg'
};

// RoIAlign (He et al., "Mask R-CNN", section 3). feats (n, h, w, c), rois f32 (k, 5): image index, x1, y1,
// x2, y2 in image pixels; rois get no gradient. Returns (k, out_h, out_w, c) in feats' dtype, computed in
// f32. A RoI with a non-finite coordinate, and one of zero size with sampling_ratio 0, gives zeros and no
// gradient; so do samples more than a pixel outside the map. NaN features reach every bin that samples them.
// Throws Error for an image index outside [0, n) (not on CUDA, where such a RoI gives zeros).
Variable roi_align(const Variable& feats, const Tensor& rois, const RoIAlignParams& params);

// The same over several feature maps, at most 8: map `level[i]` (i64 (k)) serves RoI i; params[l] belongs to
// feats[l] and all agree in out_h, out_w, max_pool. One node on the tape, one gradient per map.
Variable roi_align_levels(const Variables& feats, const Tensor& rois, const Tensor& level,
                          const std::vector<RoIAlignParams>& params);

}  // namespace osprey
