#include "models/roi_heads/standard_roi_head.h"

#include "core/bbox/transforms.h"
#include "core/ops/shape_ops.h"

namespace osprey {

StandardRoIHead::StandardRoIHead(const ConfigNode& cfg) : RoITestMixin(cfg) {
  const ConfigNode shared_head = cfg.find("shared_head");
  if (!shared_head.is_null()) shared_head_ = add_child("shared_head", build<SharedHead>(shared_head));
  bbox_roi_extractor_ = add_child("bbox_roi_extractor", build<RoIExtractor>(cfg["bbox_roi_extractor"]));
  bbox_head_ = add_child("bbox_head", build<BBoxHead>(cfg["bbox_head"]));
  const ConfigNode mask_roi_extractor = cfg.find("mask_roi_extractor");
  if (!cfg.find("mask_head").is_null()) {
    mask_roi_extractor_ = mask_roi_extractor.is_null()
                              ? bbox_roi_extractor_
                              : add_child("mask_roi_extractor", build<RoIExtractor>(mask_roi_extractor));
    mask_head_ = add_child("mask_head", build<MaskHead>(cfg["mask_head"]));
  }
  if (!cfg.find("train_cfg").is_null()) train_cfg_.emplace(cfg["train_cfg"]);
}

std::vector<std::pair<std::string, int64_t>> StandardRoIHead::num_classes_by_head() const {
  std::vector<std::pair<std::string, int64_t>> heads{{bbox_head_->path(), bbox_head_->num_classes()}};
  if (mask_head_) heads.emplace_back(mask_head_->path(), mask_head_->num_classes());
  return heads;
}

LossDict StandardRoIHead::forward_train(const Variables& feats, const Tensors& proposals,
                                        const Batch& batch) const {
  OSPREY_REQUIRE(train_cfg_, path(), ": training needs model.train_cfg.rcnn");
  bbox_head_->check_labels(batch.gt_labels);
  const SamplingResults sampled =
      assign_and_sample(*train_cfg_, without_scores(proposals), batch, {}, hardness(feats));

  const auto [predictions, bbox_feats] = bbox_forward(feats, sampled_rois(sampled));
  LossDict losses = bbox_head_->loss(predictions, bbox_head_->get_targets(sampled, *train_cfg_));

  if (mask_head_) {
    const Variable mask_pred = mask_head_->forward(positive_feats(feats, bbox_feats, sampled));
    const Tensor mask_targets = mask_head_->get_targets(sampled, batch.gt_masks, *train_cfg_);
    losses.merge("", mask_head_->loss(mask_pred, mask_targets, positive_labels(sampled)));
  }
  return losses;
}

StandardRoIHead::BBoxForward StandardRoIHead::bbox_forward(const Variables& feats, const Tensor& rois) const {
  const Variable roi_feats = bbox_feats(feats, rois);
  return {bbox_head_->forward(roi_feats), roi_feats};
}

Variable StandardRoIHead::bbox_feats(const Variables& feats, const Tensor& rois) const {
  return through_shared_head(bbox_roi_extractor_->forward(feats, rois));
}

Variable StandardRoIHead::through_shared_head(const Variable& roi_feats) const {
  return shared_head_ ? shared_head_->forward(roi_feats) : roi_feats;
}

// Valid as long as `feats`.
HardnessByImage StandardRoIHead::hardness(const Variables& feats) const {
  return [this, &feats](int64_t image) {
    return [this, &feats, image](const Tensor& bboxes, const Tensor& labels) {
      const NoGradGuard no_grad;
      const BBoxForward forward = bbox_forward(feats, rois_of_image(bboxes, image));
      return bbox_head_->hardness(forward.predictions.cls_score, labels);
    };
  };
}

// Features of the positives: cut anew, or the rows of the box features where the extractor is shared.
Variable StandardRoIHead::positive_feats(const Variables& feats, const Variable& bbox_feats,
                                         const SamplingResults& sampled) const {
  if (!share_roi_extractor())
    return through_shared_head(mask_roi_extractor_->forward(feats, positive_rois(sampled)));
  std::vector<int64_t> rows;
  int64_t first = 0;
  for (const SamplingResult& image : sampled) {
    for (int64_t i = 0; i < image.pos_bboxes.dim(0); ++i) rows.push_back(first + i);
    first += image.pos_bboxes.dim(0) + image.neg_bboxes.dim(0);
  }
  const Tensor indices = Tensor::from(rows, {static_cast<int64_t>(rows.size())});
  return gather_rows(bbox_feats, indices.to(bbox_feats.device()));
}

RoITestMixin::ScoredBoxes StandardRoIHead::score_boxes(const Context& context, Tensors proposals,
                                                       const std::vector<ImgMeta>&) const {
  const auto [cls_score, bbox_pred] = bbox_forward(context.feats, bbox2roi(proposals)).predictions;
  const Tensors cls_scores = split_rows(cls_score.value(), proposals);
  const Tensors bbox_preds = split_rows(bbox_pred.value(), proposals);
  return {std::move(proposals), cls_scores, bbox_preds};
}

Tensor StandardRoIHead::mask_probabilities(const Context& context, const Tensor& rois,
                                           const Tensor& labels) const {
  const Variable feats = through_shared_head(mask_roi_extractor_->forward(context.feats, rois));
  return mask_head_->probabilities(mask_head_->forward(feats), labels);
}

OSPREY_REGISTER(RoIHead, StandardRoIHead);

}  // namespace osprey
