#include "models/roi_heads/htc_roi_head.h"

#include <algorithm>

#include "core/ops/elementwise.h"
#include "core/ops/pool2d.h"

namespace osprey {

HybridTaskCascadeRoIHead::HybridTaskCascadeRoIHead(const ConfigNode& cfg)
    : CascadeRoIHead(cfg),
      interleaved_(cfg.get("interleaved", true)),
      mask_info_flow_(cfg.get("mask_info_flow", true)) {
  for (size_t stage = 0; with_mask() && stage < num_stages(); ++stage) {
    htc_mask_heads_.push_back(dynamic_cast<HTCMaskHead*>(&mask_head(stage)));
    if (!htc_mask_heads_.back())
      cfg["mask_head"].fail("HybridTaskCascadeRoIHead needs mask_head HTCMaskHead");
  }
  const auto fusion = cfg.get("semantic_fusion", std::vector<std::string>{"bbox", "mask"});
  for (const std::string& branch : fusion) {
    if (branch != "bbox" && branch != "mask") {
      cfg["semantic_fusion"].fail(str_cat("'", branch, "' is no branch; allowed: bbox, mask"));
    }
  }
  const ConfigNode semantic_head = cfg.find("semantic_head");
  const ConfigNode semantic_roi_extractor = cfg.find("semantic_roi_extractor");
  if (semantic_head.is_null() != semantic_roi_extractor.is_null()) {
    cfg.fail("semantic_head and semantic_roi_extractor go together: give both or neither");
  }
  if (semantic_head.is_null()) return;
  semantic_roi_extractor_ = add_child("semantic_roi_extractor", build<RoIExtractor>(semantic_roi_extractor));
  semantic_head_ = add_child("semantic_head", build<SemanticHead>(semantic_head));
  fuse_bbox_ = std::count(fusion.begin(), fusion.end(), "bbox") > 0;
  fuse_mask_ = std::count(fusion.begin(), fusion.end(), "mask") > 0;
}

LossDict HybridTaskCascadeRoIHead::forward_train(const Variables& feats, const Tensors& proposals,
                                                 const Batch& batch) const {
  Context context{feats, {}};
  LossDict losses;
  if (semantic_head_) {
    const SemanticHead::Outputs semantic = semantic_head_->forward(feats);
    context.semantic_feat = semantic.semantic_feat;
    losses.merge("", semantic_loss(semantic.mask_pred, batch));
  }

  Tensors boxes = without_scores(proposals);
  for (size_t stage = 0; stage < num_stages(); ++stage) {
    SamplingResults sampled = assign_and_sample(stage, context, boxes, batch);
    const BBoxStep step = bbox_forward_train(stage, context, sampled);
    const bool interleave = interleaved_ && with_mask();
    FiniteBoxes refined;
    if (interleave || stage + 1 < num_stages()) refined = refine_bboxes(stage, step, sampled, batch);

    const std::string prefix = str_cat("s", stage, ".");
    const double weight = stage_loss_weight(stage);
    losses.merge(prefix, fail_unless_finite(refined, step.losses, "loss_bbox"), weight);
    if (with_mask()) {
      // The mask branch sees this stage's own boxes, not the ones that the box branch started from.
      if (interleave) sampled = assign_and_sample(stage, context, refined.boxes, batch, /*draw=*/1);
      losses.merge(prefix, mask_forward_train(stage, context, sampled, batch), weight);
    }
    boxes = refined.boxes;
  }
  return losses;
}

LossDict HybridTaskCascadeRoIHead::semantic_loss(const Variable& mask_pred, const Batch& batch) const {
  if (!batch.gt_semantic_seg.defined()) {
    throw UserError(path() +
                    ": the semantic branch needs gt_semantic_seg; either give the data set a seg_prefix "
                    "(and with_seg: true, SegRescale, 'gt_semantic_seg' in Collect), or train without: "
                    "model.roi_head.semantic_head=null and model.roi_head.semantic_roi_extractor=null");
  }
  LossDict losses;
  losses.add("loss_semantic_seg", semantic_head_->loss(mask_pred, batch.gt_semantic_seg));
  return losses;
}

CascadeRoIHead::Context HybridTaskCascadeRoIHead::look_at(const Variables& feats) const {
  return {feats, semantic_head_ ? semantic_head_->forward(feats).semantic_feat : Variable()};
}

// Box features and, pooled to their size, the semantic features of the same RoIs.
Variable HybridTaskCascadeRoIHead::bbox_feats(size_t stage, const Context& context,
                                              const Tensor& rois) const {
  const Variable feats = CascadeRoIHead::bbox_feats(stage, context, rois);
  if (!fuse_bbox_) return feats;
  const ModuleScope scope(path());
  Variable semantic = semantic_roi_extractor_->forward({context.semantic_feat}, rois);
  if (semantic.dim(1) != feats.dim(1) || semantic.dim(2) != feats.dim(2)) {
    semantic = adaptive_avg_pool2d(semantic, feats.dim(1), feats.dim(2));
  }
  return feats + cast(semantic, feats.dtype());
}

Variable HybridTaskCascadeRoIHead::mask_feats(size_t stage, const Context& context,
                                              const Tensor& rois) const {
  const Variable feats = CascadeRoIHead::mask_feats(stage, context, rois);
  if (!fuse_mask_) return feats;
  const ModuleScope scope(path());
  const Variable semantic = semantic_roi_extractor_->forward({context.semantic_feat}, rois);
  return feats + cast(semantic, feats.dtype());
}

// Runs the mask heads of all earlier stages, up to their features, for the information that flows into this
// one; it is not cut from the tape.
Variable HybridTaskCascadeRoIHead::mask_forward(size_t stage, const Context& context,
                                                const Tensor& rois) const {
  const Variable feats = mask_feats(stage, context, rois);
  Variable last_feat;
  for (size_t i = 0; mask_info_flow_ && i < stage; ++i) {
    last_feat = htc_mask_head(i).forward_features(feats, last_feat);
  }
  const HTCMaskHead& head = htc_mask_head(stage);
  return head.forward_logits(head.forward_features(feats, last_feat));
}

// One pass through the chain gives the masks of every stage; all see the features of the last extractor.
Tensor HybridTaskCascadeRoIHead::mask_probabilities(const Context& context, const Tensor& rois,
                                                    const Tensor& labels) const {
  const Variable feats = mask_feats(num_stages() - 1, context, rois);
  Tensors stages;
  Variable last_feat;
  for (const HTCMaskHead* head : htc_mask_heads_) {
    const Variable features = head->forward_features(feats, last_feat);
    stages.push_back(head->probabilities(head->forward_logits(features), labels));
    if (mask_info_flow_) last_feat = features;
  }
  return mean_of(stages);
}

OSPREY_REGISTER(RoIHead, HybridTaskCascadeRoIHead);

}  // namespace osprey
