#pragma once

#include <optional>

#include "models/roi_heads/roi_extractors/roi_extractor.h"
#include "models/roi_heads/shared_heads/shared_head.h"
#include "models/roi_heads/test_mixins.h"

namespace osprey {

// The RoI head of Fast, Faster and Mask R-CNN: one box head and, optionally, one mask head.
// Keys: bbox_roi_extractor, bbox_head, mask_roi_extractor (shared with the box head when missing), mask_head,
// shared_head (what both heads look through: C4 detectors), train_cfg (an RCNNTrainCfg), test_cfg (an
// RCNNTestCfg).
class StandardRoIHead : public RoITestMixin {
 public:
  explicit StandardRoIHead(const ConfigNode& cfg);
  // loss_cls, acc, loss_bbox, and loss_mask with a mask head.
  LossDict forward_train(const Variables& feats, const Tensors& proposals, const Batch& batch) const override;
  std::vector<std::pair<std::string, int64_t>> num_classes_by_head() const override;

  SharedHead* shared_head() const override { return shared_head_; }

 protected:
  struct BBoxForward {
    BBoxHead::Predictions predictions;
    Variable bbox_feats;
  };
  virtual BBoxForward bbox_forward(const Variables& feats, const Tensor& rois) const;
  // Behind the shared head, if there is one.
  Variable bbox_feats(const Variables& feats, const Tensor& rois) const;
  const BBoxHead& last_bbox_head() const override { return *bbox_head_; }

 private:
  HardnessByImage hardness(const Variables& feats) const;
  bool share_roi_extractor() const { return mask_roi_extractor_ == bbox_roi_extractor_; }
  Variable through_shared_head(const Variable& roi_feats) const;
  Variable positive_feats(const Variables& feats, const Variable& bbox_feats,
                          const SamplingResults& sampled) const;

  ScoredBoxes score_boxes(const Context& context, Tensors proposals,
                          const std::vector<ImgMeta>& img_metas) const override;
  Tensor mask_probabilities(const Context& context, const Tensor& rois, const Tensor& labels) const override;
  const MaskHead* last_mask_head() const override { return mask_head_; }

  RoIExtractor *bbox_roi_extractor_, *mask_roi_extractor_ = nullptr;
  SharedHead* shared_head_ = nullptr;
  BBoxHead* bbox_head_;
  MaskHead* mask_head_ = nullptr;
  std::optional<RCNNTrainCfg> train_cfg_;
};

}  // namespace osprey
