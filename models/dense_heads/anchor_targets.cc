#include "models/dense_heads/anchor_targets.h"

#include <algorithm>

#include "core/anchor/anchor_kernel.h"
#include "core/bbox/device_samples.h"

namespace osprey {

namespace {

// What hides the anchors that take no part: NaN boxes, which an assigner gives to nobody.
Tensor hidden_outside(const Tensor& anchors, const Tensor& inside) {
  Tensor seen = Tensor::empty_like(anchors);
  for_rows(anchors.device(), anchors.dim(0),
           HideAnchor{anchors.data<float>(), inside.data<uint8_t>(), seen.mutable_data<float>()});
  return seen;
}

AnchorPlace place_of_levels(const Tensors& anchors, int64_t images) {
  OSPREY_REQUIRE(anchors.size() <= kMaxAnchorLevels, "anchor targets: ", anchors.size(), " levels, at most ",
                 kMaxAnchorLevels, " are supported");
  AnchorPlace place{{}, images, 0};
  for (size_t l = 0; l < anchors.size(); ++l) place.begins[l + 1] = place.begins[l] + anchors[l].dim(0);
  return place;
}

Tensors cut_levels(const Tensor& all, const Tensors& anchors, int64_t images) {
  Tensors levels;
  int64_t begin = 0;
  for (const Tensor& level : anchors) {
    levels.push_back(all.slice(begin, begin + images * level.dim(0)));
    begin += images * level.dim(0);
  }
  return levels;
}

}  // namespace

// Level after level, within a level image after image.
struct AnchorTargetMaker::Flat {
  AnchorPlace place;
  Tensor labels, label_weights, bbox_targets, bbox_weights;

  Flat(const Tensors& anchors, int64_t images, int64_t background) : place(place_of_levels(anchors, images)) {
    const Device device = anchors[0].device();
    const int64_t n = images * place.begins[anchors.size()];
    labels = Tensor::full({n}, static_cast<double>(background), DType::kI64, device);
    label_weights = Tensor::zeros({n}, DType::kF32, device);
    bbox_targets = Tensor::zeros({n, 4}, DType::kF32, device);
    bbox_weights = Tensor::zeros({n, 4}, DType::kF32, device);
  }
};

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

AssignResult AnchorTargetMaker::assign(const Tensor& anchors, const Tensor& inside, const Batch& batch,
                                       int64_t image) const {
  const Tensor ignore = batch.gt_bboxes_ignore.empty() ? Tensor() : batch.gt_bboxes_ignore[image];
  AssignResult assigned =
      assigner_->assign(hidden_outside(anchors, inside), batch.gt_bboxes[image], ignore, {});
  for_rows(anchors.device(), anchors.dim(0),
           IgnoreHidden{inside.data<uint8_t>(), assigned.gt_inds.mutable_data<int64_t>()});
  return assigned;
}

void AnchorTargetMaker::require_class(int64_t label) const {
  if (label >= 0 && label < num_classes_) return;
  throw UserError(str_cat("bbox_head: a ground truth has label ", label, ", allowed are 0..",
                          num_classes_ - 1, "; set num_classes to the number of classes of the data set"));
}

void AnchorTargetMaker::fill_in(const SamplingResult& sampled, const BBoxCoder& coder, const Batch& batch,
                                bool class_agnostic, Flat& targets) const {
  const Device device = targets.labels.device();
  const Tensor wanted =
      reg_decoded_bbox_ ? sampled.pos_gt_bboxes : coder.encode(sampled.pos_bboxes, sampled.pos_gt_bboxes);
  const Tensor gt_labels = class_agnostic ? Tensor() : batch.gt_labels[targets.place.image].to(device);
  for_rows(device, sampled.pos_inds.dim(0),
           SetPositive{
               targets.place, sampled.pos_inds.data<int64_t>(), sampled.pos_assigned_gt_inds.data<int64_t>(),
               class_agnostic ? nullptr : gt_labels.data<int64_t>(), wanted.data<float>(), pos_weight_,
               targets.labels.mutable_data<int64_t>(), targets.label_weights.mutable_data<float>(),
               targets.bbox_targets.mutable_data<float>(), targets.bbox_weights.mutable_data<float>()});
  for_rows(device, sampled.neg_inds.dim(0),
           SetNegative{targets.place, sampled.neg_inds.data<int64_t>(),
                       targets.label_weights.mutable_data<float>()});
}

AnchorTargets AnchorTargetMaker::make(const Tensors& anchors, const AnchorGeneratorBase& generator,
                                      const std::vector<MapSize>& featmap_sizes, const BBoxCoder& coder,
                                      const Batch& batch, bool class_agnostic) const {
  const Tensor flat_anchors = concat(anchors);
  std::vector<AssignResult> assigned;
  for (int64_t i = 0; i < batch.size(); ++i) {
    const ImgMeta& meta = batch.img_metas[i];
    const Tensor valid = concat(generator.valid_flags(featmap_sizes, meta.pad_shape, flat_anchors.device()));
    const Tensor inside = anchor_inside_flags(flat_anchors, valid, meta.img_shape, allowed_border_);
    assigned.push_back(assign(flat_anchors, inside, batch, i));
    for (const int64_t label :
         class_agnostic ? std::vector<int64_t>() : batch.gt_labels[i].to_vector<int64_t>())
      require_class(label);
  }
  find_assigned_rows(assigned);

  AnchorTargets targets;
  Flat flat(anchors, batch.size(), num_classes_);
  for (int64_t i = 0; i < batch.size(); ++i) {
    CounterRng rng(batch.rng_seed, /*stream of the dense head*/ 0, i);
    const SamplingResult sampled =
        sampler_->sample(std::move(assigned[i]), flat_anchors, batch.gt_bboxes[i], {}, rng);
    flat.place.image = i;
    fill_in(sampled, coder, batch, class_agnostic, flat);
    targets.num_total_pos += std::max<int64_t>(sampled.pos_inds.dim(0), 1);
    targets.num_total_neg += std::max<int64_t>(sampled.neg_inds.dim(0), 1);
  }
  targets.labels = cut_levels(flat.labels, anchors, batch.size());
  targets.label_weights = cut_levels(flat.label_weights, anchors, batch.size());
  targets.bbox_targets = cut_levels(flat.bbox_targets, anchors, batch.size());
  targets.bbox_weights = cut_levels(flat.bbox_weights, anchors, batch.size());
  return targets;
}

}  // namespace osprey
