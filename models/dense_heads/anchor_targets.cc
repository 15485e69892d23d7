#include "models/dense_heads/anchor_targets.h"

#include <algorithm>

#include "core/ops/shape_ops.h"

namespace osprey {

// Flat over the anchors of all levels of one image.
struct AnchorTargetMaker::ImageTargets {
  std::vector<int64_t> labels;
  std::vector<float> label_weights, bbox_targets, bbox_weights;
  int64_t num_pos = 0, num_neg = 0;

  ImageTargets(int64_t num_anchors, int64_t background)
      : labels(num_anchors, background),
        label_weights(num_anchors, 0.0f),
        bbox_targets(num_anchors * 4, 0.0f),
        bbox_weights(num_anchors * 4, 0.0f) {}
};

namespace {

std::vector<int64_t> indices_of(const Tensor& flags) {
  const std::vector<uint8_t> values = flags.to_vector<uint8_t>();
  std::vector<int64_t> indices;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i]) indices.push_back(static_cast<int64_t>(i));
  }
  return indices;
}

}  // namespace

AnchorTargetMaker::AnchorTargetMaker(const ConfigNode& train_cfg, int64_t num_classes, bool sampling,
                                     bool reg_decoded_bbox)
    : assigner_(build<BBoxAssigner>(train_cfg["assigner"])),
      num_classes_(num_classes),
      sampling_(sampling && !train_cfg.find("sampler").is_null()),
      reg_decoded_bbox_(reg_decoded_bbox),
      allowed_border_(train_cfg.get("allowed_border", int64_t{-1}, at_least(-1))),
      pos_weight_(train_cfg.get("pos_weight", -1.0f, at_least(-1))) {
  sampler_ = build<BBoxSampler>(sampling_ ? train_cfg["sampler"] : parse_config("type: PseudoSampler"));
  if (pos_weight_ <= 0) pos_weight_ = 1;
  train_cfg.get("debug", false);  // the reference reads it nowhere
}

SamplingResult AnchorTargetMaker::sample(const Tensor& anchors, const Batch& batch, int64_t image) const {
  const Tensor ignore = batch.gt_bboxes_ignore.empty() ? Tensor() : batch.gt_bboxes_ignore[image];
  const Tensor& gt_bboxes = batch.gt_bboxes[image];
  CounterRng rng(batch.rng_seed, /*stream of the dense head*/ 0, image);
  return sampler_->sample(assigner_->assign(anchors, gt_bboxes, ignore, {}), anchors, gt_bboxes, {}, rng);
}

void AnchorTargetMaker::require_class(int64_t label) const {
  if (label >= 0 && label < num_classes_) return;
  throw UserError(str_cat("bbox_head: a ground truth has label ", label, ", allowed are 0..",
                          num_classes_ - 1, "; set num_classes to the number of classes of the data set"));
}

AnchorTargetMaker::ImageTargets AnchorTargetMaker::for_image(const Tensor& anchors,
                                                             const Tensor& inside_flags,
                                                             const BBoxCoder& coder, const Batch& batch,
                                                             int64_t image, bool class_agnostic) const {
  ImageTargets targets(anchors.dim(0), num_classes_);
  const std::vector<int64_t> inside = indices_of(inside_flags);
  if (inside.empty()) return targets;
  const int64_t num_inside = static_cast<int64_t>(inside.size());
  const Tensor inside_anchors = gather_rows(anchors, Tensor::from(inside, {num_inside})).value();
  const SamplingResult sampled = sample(inside_anchors, batch, image);
  const auto pos_inds = sampled.pos_inds.to_vector<int64_t>();
  const auto neg_inds = sampled.neg_inds.to_vector<int64_t>();
  const auto gt_inds = sampled.pos_assigned_gt_inds.to_vector<int64_t>();
  const auto gt_labels =
      class_agnostic ? std::vector<int64_t>() : batch.gt_labels[image].to_vector<int64_t>();
  for (const int64_t label : gt_labels) require_class(label);
  const Tensor wanted =
      reg_decoded_bbox_ ? sampled.pos_gt_bboxes : coder.encode(sampled.pos_bboxes, sampled.pos_gt_bboxes);
  const auto bbox_targets = wanted.to_vector<float>();
  for (size_t k = 0; k < pos_inds.size(); ++k) {
    const int64_t anchor = inside[pos_inds[k]];
    targets.labels[anchor] = class_agnostic ? 0 : gt_labels[gt_inds[k]];
    targets.label_weights[anchor] = pos_weight_;
    std::copy_n(&bbox_targets[k * 4], 4, &targets.bbox_targets[anchor * 4]);
    std::fill_n(&targets.bbox_weights[anchor * 4], 4, 1.0f);
  }
  for (const int64_t k : neg_inds) targets.label_weights[inside[k]] = 1;
  targets.num_pos = static_cast<int64_t>(pos_inds.size());
  targets.num_neg = static_cast<int64_t>(neg_inds.size());
  return targets;
}

AnchorTargets AnchorTargetMaker::make(const Tensors& anchors, const AnchorGeneratorBase& generator,
                                      const std::vector<MapSize>& featmap_sizes, const BBoxCoder& coder,
                                      const Batch& batch, bool class_agnostic) const {
  const Tensor flat_anchors = concat(anchors).to(kCPU);
  const Device device = anchors[0].device();
  AnchorTargets targets;
  std::vector<ImageTargets> images;
  for (int64_t i = 0; i < batch.size(); ++i) {
    const ImgMeta& meta = batch.img_metas[i];
    const Tensor valid = concat(generator.valid_flags(featmap_sizes, meta.pad_shape));
    const Tensor inside = anchor_inside_flags(flat_anchors, valid, meta.img_shape, allowed_border_);
    images.push_back(for_image(flat_anchors, inside, coder, batch, i, class_agnostic));
    targets.num_total_pos += std::max<int64_t>(images.back().num_pos, 1);
    targets.num_total_neg += std::max<int64_t>(images.back().num_neg, 1);
  }
  // From one list per image to one per level.
  int64_t begin = 0;
  for (const Tensor& level : anchors) {
    const int64_t count = level.dim(0);
    std::vector<int64_t> labels;
    std::vector<float> label_weights, bbox_targets, bbox_weights;
    const auto append = [](auto& to, const auto& from, int64_t first, int64_t n) {
      to.insert(to.end(), from.begin() + first, from.begin() + first + n);
    };
    for (const ImageTargets& image : images) {
      append(labels, image.labels, begin, count);
      append(label_weights, image.label_weights, begin, count);
      append(bbox_targets, image.bbox_targets, begin * 4, count * 4);
      append(bbox_weights, image.bbox_weights, begin * 4, count * 4);
    }
    const int64_t n = batch.size() * count;
    targets.labels.push_back(Tensor::from(labels, {n}).to(device));
    targets.label_weights.push_back(Tensor::from(label_weights, {n}).to(device));
    targets.bbox_targets.push_back(Tensor::from(bbox_targets, {n, 4}).to(device));
    targets.bbox_weights.push_back(Tensor::from(bbox_weights, {n, 4}).to(device));
    begin += count;
  }
  return targets;
}

}  // namespace osprey
