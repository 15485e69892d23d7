#include "models/roi_heads/double_head_roi_head.h"

#include "core/bbox/transforms.h"

namespace osprey {

DoubleHeadRoIHead::DoubleHeadRoIHead(const ConfigNode& cfg)
    : StandardRoIHead(cfg),
      reg_roi_scale_factor_(cfg.get<float>("reg_roi_scale_factor", positive())),
      double_head_(dynamic_cast<const DoubleConvFCBBoxHead*>(&last_bbox_head())) {
  if (double_head_ == nullptr)
    cfg["bbox_head"]["type"].fail("must be DoubleConvFCBBoxHead, which looks at two features");
}

StandardRoIHead::BBoxForward DoubleHeadRoIHead::bbox_forward(const Variables& feats,
                                                             const Tensor& rois) const {
  const Variable cls_feats = bbox_feats(feats, rois);
  const Variable reg_feats = bbox_feats(feats, scale_rois(rois, reg_roi_scale_factor_));
  return {double_head_->forward(cls_feats, reg_feats), cls_feats};
}

OSPREY_REGISTER(RoIHead, DoubleHeadRoIHead);

}  // namespace osprey
