#include "models/roi_heads/cascade_roi_head.h"

#include "core/bbox/transforms.h"
#include "core/ops/elementwise.h"
#include "core/ops/label_ops.h"
#include "core/ops/shape_ops.h"

namespace osprey {
namespace {

// One part per stage from a list of configs, or from one config for all stages.
template <typename Base>
std::unique_ptr<ModuleList<Base>> build_per_stage(const ConfigNode& cfg, size_t num_stages) {
  if (cfg.is_list() && cfg.size() != num_stages) {
    cfg.fail(str_cat("needs one entry for each of the ", num_stages, " stages, got ", cfg.size()));
  }
  auto parts = std::make_unique<ModuleList<Base>>();
  for (size_t i = 0; i < num_stages; ++i) parts->append(build<Base>(cfg.is_list() ? cfg.at(i) : cfg));
  return parts;
}

// Of boxes (n, 4), positives first, those that are no ground truths by the flags of the positives.
Tensor without_ground_truths(const Tensor& boxes, const Tensor& pos_is_gt) {
  const auto is_gt = pos_is_gt.to_vector<uint8_t>();
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < boxes.dim(0); ++row) {
    if (row >= static_cast<int64_t>(is_gt.size()) || !is_gt[row]) rows.push_back(row);
  }
  const int64_t kept = static_cast<int64_t>(rows.size());
  if (kept == boxes.dim(0)) return boxes;
  return gather_rows(boxes, Tensor::from(rows, {kept})).value();
}

}  // namespace

CascadeRoIHead::CascadeRoIHead(const ConfigNode& cfg)
    : RoITestMixin(cfg),
      num_stages_(static_cast<size_t>(cfg.get<int64_t>("num_stages", positive()))),
      stage_loss_weights_(cfg.get<std::vector<double>>("stage_loss_weights", non_negative())) {
  if (stage_loss_weights_.size() != num_stages_) {
    cfg["stage_loss_weights"].fail(str_cat("needs one weight for each of the ", num_stages_, " stages"));
  }
  bbox_roi_extractors_ =
      add_child("bbox_roi_extractor", build_per_stage<RoIExtractor>(cfg["bbox_roi_extractor"], num_stages_));
  bbox_heads_ = add_child("bbox_head", build_per_stage<BBoxHead>(cfg["bbox_head"], num_stages_));
  const ConfigNode mask_roi_extractor = cfg.find("mask_roi_extractor");
  if (!cfg.find("mask_head").is_null()) {
    mask_heads_ = add_child("mask_head", build_per_stage<MaskHead>(cfg["mask_head"], num_stages_));
    mask_roi_extractors_ =
        mask_roi_extractor.is_null()
            ? bbox_roi_extractors_
            : add_child("mask_roi_extractor", build_per_stage<RoIExtractor>(mask_roi_extractor, num_stages_));
  }
  const ConfigNode train_cfg = cfg.find("train_cfg");
  if (!train_cfg.is_null()) {
    if (!train_cfg.is_list() || train_cfg.size() != num_stages_) {
      train_cfg.fail(str_cat("must be a list of ", num_stages_, " blocks, one for each stage"));
    }
    for (const ConfigNode& stage : train_cfg.items()) train_cfg_.emplace_back(stage);
  }
}

std::vector<std::pair<std::string, int64_t>> CascadeRoIHead::num_classes_by_head() const {
  std::vector<std::pair<std::string, int64_t>> heads;
  for (const BBoxHead* head : *bbox_heads_) heads.emplace_back(head->path(), head->num_classes());
  if (with_mask()) {
    for (const MaskHead* head : *mask_heads_) heads.emplace_back(head->path(), head->num_classes());
  }
  return heads;
}

// --- Training.

LossDict CascadeRoIHead::forward_train(const Variables& feats, const Tensors& proposals,
                                       const Batch& batch) const {
  const Context context = look_at(feats);
  Tensors boxes = without_scores(proposals);
  LossDict losses;
  for (size_t stage = 0; stage < num_stages_; ++stage) {
    const SamplingResults sampled = assign_and_sample(stage, context, boxes, batch);
    const BBoxStep step = bbox_forward_train(stage, context, sampled);
    FiniteBoxes refined;
    if (stage + 1 < num_stages_) refined = refine_bboxes(stage, step, sampled, batch);

    const std::string prefix = str_cat("s", stage, ".");
    losses.merge(prefix, fail_unless_finite(refined, step.losses, "loss_bbox"), stage_loss_weight(stage));
    if (with_mask()) {
      losses.merge(prefix, mask_forward_train(stage, context, sampled, batch), stage_loss_weight(stage));
    }
    boxes = refined.boxes;
  }
  return losses;
}

SamplingResults CascadeRoIHead::assign_and_sample(size_t stage, const Context& context, const Tensors& boxes,
                                                  const Batch& batch, int draw) const {
  OSPREY_REQUIRE(!train_cfg_.empty(), path(), ": training needs model.train_cfg.rcnn");
  (*bbox_heads_)[stage].check_labels(batch.gt_labels);
  const auto hardness = [&](int64_t image) {
    return [&, image](const Tensor& bboxes, const Tensor& labels) {
      const NoGradGuard no_grad;
      const BBoxHead& head = (*bbox_heads_)[stage];
      const Variable feats = bbox_feats(stage, context, rois_of_image(bboxes, image));
      return head.hardness(head.forward(feats).cls_score, labels);
    };
  };
  return osprey::assign_and_sample(train_cfg_[stage], boxes, batch, {stage, draw}, hardness);
}

CascadeRoIHead::BBoxStep CascadeRoIHead::bbox_forward_train(size_t stage, const Context& context,
                                                            const SamplingResults& sampled) const {
  const BBoxHead& head = (*bbox_heads_)[stage];
  BBoxStep step;
  step.predictions = head.forward(bbox_feats(stage, context, sampled_rois(sampled)));
  step.targets = head.get_targets(sampled, train_cfg_[stage]);
  step.losses = head.loss(step.predictions, step.targets);
  return step;
}

LossDict CascadeRoIHead::mask_forward_train(size_t stage, const Context& context,
                                            const SamplingResults& sampled, const Batch& batch) const {
  const MaskHead& head = mask_head(stage);
  const Variable mask_pred = mask_forward(stage, context, positive_rois(sampled));
  const Tensor mask_targets = head.get_targets(sampled, batch.gt_masks, train_cfg_[stage]);
  return head.loss(mask_pred, mask_targets, positive_labels(sampled));
}

// A box moves by the deltas of its label; one that is labelled background by those of its best class.
FiniteBoxes CascadeRoIHead::refine_bboxes(size_t stage, const BBoxStep& step, const SamplingResults& sampled,
                                          const Batch& batch) const {
  const NoGradGuard no_grad;
  const BBoxHead& head = (*bbox_heads_)[stage];
  const Tensor best = head.foreground_argmax(step.predictions.cls_score.value());
  const Tensor labels = replace_label(step.targets.labels.to(best.device()), head.num_classes(), best);
  Tensors refined, all;
  for (const SamplingResult& image : sampled) all.push_back(image.bboxes());
  const Tensors image_labels = split_rows(labels, all);
  const Tensors deltas = split_rows(step.predictions.bbox_pred.value(), all);
  for (size_t i = 0; i < sampled.size(); ++i) {
    const Tensor boxes = head.regress_by_class(all[i], image_labels[i], deltas[i], batch.img_metas[i]);
    refined.push_back(without_ground_truths(boxes, sampled[i].pos_is_gt));
  }
  return keep_finite(refined);
}

// --- What a stage sees.

Variable CascadeRoIHead::bbox_feats(size_t stage, const Context& context, const Tensor& rois) const {
  return (*bbox_roi_extractors_)[stage].forward(context.feats, rois);
}

Variable CascadeRoIHead::mask_feats(size_t stage, const Context& context, const Tensor& rois) const {
  return (*mask_roi_extractors_)[stage].forward(context.feats, rois);
}

Variable CascadeRoIHead::mask_forward(size_t stage, const Context& context, const Tensor& rois) const {
  return mask_head(stage).forward(mask_feats(stage, context, rois));
}

// --- Testing.

// The boxes pass through all stages; the scores are averaged over them, the last stage's deltas count.
RoITestMixin::ScoredBoxes CascadeRoIHead::score_boxes(const Context& context, Tensors boxes,
                                                      const std::vector<ImgMeta>& img_metas) const {
  Tensors stage_scores, bbox_preds;
  for (size_t stage = 0; stage < num_stages_; ++stage) {
    const BBoxHead& head = (*bbox_heads_)[stage];
    const auto [cls_score, bbox_pred] = head.forward(bbox_feats(stage, context, bbox2roi(boxes)));
    stage_scores.push_back(cls_score.value());
    bbox_preds = split_rows(bbox_pred.value(), boxes);
    if (stage + 1 == num_stages_) break;
    const Tensors labels = split_rows(head.foreground_argmax(cls_score.value()), boxes);
    for (size_t i = 0; i < boxes.size(); ++i) {
      boxes[i] = head.regress_by_class(boxes[i], labels[i], bbox_preds[i], img_metas[i]);
    }
  }
  const Tensors cls_scores = split_rows(mean_of(stage_scores), boxes);
  return {std::move(boxes), cls_scores, bbox_preds};
}

Tensor CascadeRoIHead::mask_probabilities(const Context& context, const Tensor& rois,
                                          const Tensor& labels) const {
  Tensors stages;
  for (size_t stage = 0; stage < num_stages_; ++stage) {
    stages.push_back(mask_head(stage).probabilities(mask_forward(stage, context, rois), labels));
  }
  return mean_of(stages);
}

OSPREY_REGISTER(RoIHead, CascadeRoIHead);

}  // namespace osprey
