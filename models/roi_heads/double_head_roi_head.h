#pragma once

#include "models/roi_heads/bbox_heads/double_convfc_bbox_head.h"
#include "models/roi_heads/standard_roi_head.h"

namespace osprey {

// Wu et al., "Rethinking Classification and Localization for Object Detection": boxes are regressed from RoIs
// that are reg_roi_scale_factor times as large as those that are classified. Keys of StandardRoIHead, with a
// DoubleConvFCBBoxHead as bbox_head, and reg_roi_scale_factor.
class DoubleHeadRoIHead final : public StandardRoIHead {
 public:
  explicit DoubleHeadRoIHead(const ConfigNode& cfg);

 private:
  BBoxForward bbox_forward(const Variables& feats, const Tensor& rois) const override;

  float reg_roi_scale_factor_;
  const DoubleConvFCBBoxHead* double_head_;
};

}  // namespace osprey
