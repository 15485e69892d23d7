#pragma once

#include "models/roi_heads/cascade_roi_head.h"
#include "models/roi_heads/mask_heads/htc_mask_head.h"
#include "models/roi_heads/mask_heads/semantic_head.h"

namespace osprey {

// Chen et al., "Hybrid Task Cascade for Instance Segmentation", Fig. 2c and 3. Boxes (B) and masks (M) take
// turns; each mask branch trains on the boxes that its own stage has just refined, and hears the mask
// features of the stage before; the features of the semantic branch (S) join those of every branch.
//
//   pyramid --+------------+------------+------------+--> S -> semantic_feat, added to each RoI feature
//             |            |            |
//   RPN ---> B0 --boxes-> B1 --boxes-> B2
//             \            \            \                                                                    .
//             M0 --feats-> M1 --feats-> M2
//
// Keys of CascadeRoIHead, and interleaved (true), mask_info_flow (true), semantic_fusion ([bbox, mask]),
// semantic_roi_extractor, semantic_head (optional, both or none). mask_head must be HTCMaskHead.
class HybridTaskCascadeRoIHead final : public CascadeRoIHead {
 public:
  explicit HybridTaskCascadeRoIHead(const ConfigNode& cfg);
  // loss_semantic_seg with a semantic branch, then those of CascadeRoIHead.
  LossDict forward_train(const Variables& feats, const Tensors& proposals, const Batch& batch) const override;

 private:
  Context look_at(const Variables& feats) const override;
  Variable bbox_feats(size_t stage, const Context& context, const Tensor& rois) const override;
  Variable mask_feats(size_t stage, const Context& context, const Tensor& rois) const override;
  Variable mask_forward(size_t stage, const Context& context, const Tensor& rois) const override;
  Tensor mask_probabilities(const Context& context, const Tensor& rois, const Tensor& labels) const override;

  LossDict semantic_loss(const Variable& mask_pred, const Batch& batch) const;
  const HTCMaskHead& htc_mask_head(size_t stage) const { return *htc_mask_heads_[stage]; }

  bool interleaved_, mask_info_flow_;
  bool fuse_bbox_ = false, fuse_mask_ = false;
  std::vector<HTCMaskHead*> htc_mask_heads_;
  RoIExtractor* semantic_roi_extractor_ = nullptr;
  SemanticHead* semantic_head_ = nullptr;
};

}  // namespace osprey
