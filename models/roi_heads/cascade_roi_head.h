#pragma once

#include "models/finite_boxes.h"
#include "models/roi_heads/roi_extractors/roi_extractor.h"
#include "models/roi_heads/test_mixins.h"

namespace osprey {

// Cai & Vasconcelos, "Cascade R-CNN", Fig. 3d: each stage is trained on the boxes that the one before it
// made, with a higher IoU threshold.
//
//   proposals -> [box head 0] -> boxes -> [box head 1] -> boxes -> [box head 2]
//
// Keys: num_stages, stage_loss_weights; bbox_head (a list), bbox_roi_extractor (one, or a list); mask_head,
// mask_roi_extractor (the box heads' when missing); train_cfg (a list of RCNNTrainCfg), test_cfg.
class CascadeRoIHead : public RoITestMixin {
 public:
  explicit CascadeRoIHead(const ConfigNode& cfg);
  // Per stage s0.loss_cls, s0.acc, s0.loss_bbox and, with mask heads, s0.loss_mask; losses times the stage's
  // weight.
  LossDict forward_train(const Variables& feats, const Tensors& proposals, const Batch& batch) const override;
  std::vector<std::pair<std::string, int64_t>> num_classes_by_head() const override;

 protected:
  // Fixed-size features of RoIs for one stage's heads.
  virtual Variable bbox_feats(size_t stage, const Context& context, const Tensor& rois) const;
  virtual Variable mask_feats(size_t stage, const Context& context, const Tensor& rois) const;
  // Mask logits of one stage.
  virtual Variable mask_forward(size_t stage, const Context& context, const Tensor& rois) const;
  // Averaged over the stages.
  Tensor mask_probabilities(const Context& context, const Tensor& rois, const Tensor& labels) const override;

  // One stage's box branch in training.
  struct BBoxStep {
    BBoxHead::Predictions predictions;
    BBoxTargets targets;
    LossDict losses;
  };
  BBoxStep bbox_forward_train(size_t stage, const Context& context, const SamplingResults& sampled) const;
  LossDict mask_forward_train(size_t stage, const Context& context, const SamplingResults& sampled,
                              const Batch& batch) const;
  // The sampled boxes after this stage's regression, ground truths left out. Off the tape.
  FiniteBoxes refine_bboxes(size_t stage, const BBoxStep& step, const SamplingResults& sampled,
                            const Batch& batch) const;
  SamplingResults assign_and_sample(size_t stage, const Context& context, const Tensors& boxes,
                                    const Batch& batch, int draw = 0) const;

  size_t num_stages() const { return num_stages_; }
  bool with_mask() const { return mask_heads_ != nullptr; }
  double stage_loss_weight(size_t stage) const { return stage_loss_weights_[stage]; }
  MaskHead& mask_head(size_t stage) const { return (*mask_heads_)[stage]; }

 private:
  ScoredBoxes score_boxes(const Context& context, Tensors boxes,
                          const std::vector<ImgMeta>& img_metas) const override;
  const BBoxHead& last_bbox_head() const override { return (*bbox_heads_)[num_stages_ - 1]; }
  const MaskHead* last_mask_head() const override {
    return with_mask() ? &mask_head(num_stages_ - 1) : nullptr;
  }

  size_t num_stages_;
  std::vector<double> stage_loss_weights_;
  ModuleList<RoIExtractor>*bbox_roi_extractors_, *mask_roi_extractors_ = nullptr;
  ModuleList<BBoxHead>* bbox_heads_;
  ModuleList<MaskHead>* mask_heads_ = nullptr;
  std::vector<RCNNTrainCfg> train_cfg_;
};

}  // namespace osprey
