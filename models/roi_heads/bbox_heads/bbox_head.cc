#include "models/roi_heads/bbox_heads/bbox_head.h"

#include <algorithm>

#include "core/bbox/transforms.h"
#include "core/nn/init.h"
#include "core/ops/elementwise.h"
#include "core/ops/pool2d.h"
#include "core/ops/reduce.h"
#include "core/ops/row_ops.h"
#include "core/ops/shape_ops.h"
#include "losses/accuracy.h"
#include "models/find_or.h"

namespace osprey {
namespace {

// mmdetection's default arguments.
constexpr char kBBoxCoder[] =
    "{type: DeltaXYWHBBoxCoder, target_means: [0., 0., 0., 0.], target_stds: [0.1, 0.1, 0.2, 0.2]}";
constexpr char kLossCls[] = "{type: CrossEntropyLoss, use_sigmoid: false, loss_weight: 1.0}";
constexpr char kLossBBox[] = "{type: SmoothL1Loss, beta: 1.0, loss_weight: 1.0}";

// The pooled feature that a BBoxHead without further layers looks at.
Shape pooled_shape(const ConfigNode& cfg) {
  const int64_t channels = cfg.get("in_channels", int64_t{256}, positive());
  const int64_t size = cfg.get("with_avg_pool", false) ? 1 : cfg.get("roi_feat_size", int64_t{7}, positive());
  return {size, size, channels};
}

std::unique_ptr<Linear> make_linear(const Shape& in, int64_t out) {
  return in.size() == 3 ? std::make_unique<Linear>(in, out) : std::make_unique<Linear>(in[0], out);
}

}  // namespace

BBoxHead::BBoxHead(const ConfigNode& cfg) : BBoxHead(cfg, pooled_shape(cfg), pooled_shape(cfg)) {}

BBoxHead::BBoxHead(const ConfigNode& cfg, const Shape& cls_in, const Shape& reg_in)
    : with_avg_pool_(cfg.get("with_avg_pool", false)),
      roi_feat_size_(cfg.get("roi_feat_size", int64_t{7}, positive())),
      num_classes_(cfg.get("num_classes", int64_t{80}, positive())),
      reg_class_agnostic_(cfg.get("reg_class_agnostic", false)),
      reg_decoded_bbox_(cfg.get("reg_decoded_bbox", false)),
      bbox_coder_(build<BBoxCoder>(find_or(cfg, "bbox_coder", kBBoxCoder))),
      loss_cls_(add_child("loss_cls", build<Loss>(find_or(cfg, "loss_cls", kLossCls)))),
      loss_bbox_(add_child("loss_bbox", build<Loss>(find_or(cfg, "loss_bbox", kLossBBox)))),
      fc_cls_(add_child("fc_cls", make_linear(cls_in, num_classes_ + 1))),
      fc_reg_(add_child("fc_reg", make_linear(reg_in, reg_class_agnostic_ ? 4 : 4 * num_classes_))) {}

void BBoxHead::init_weights(uint64_t seed) {
  Module::init_weights(seed);
  normal_init(*fc_cls_, seed, 0.01);
  normal_init(*fc_reg_, seed, 0.001);
}

Variable BBoxHead::pool_if_asked(const Variable& roi_feats) const {
  if (!with_avg_pool_) return roi_feats;
  return avg_pool2d(roi_feats, {.kernel = roi_feat_size_, .stride = roi_feat_size_});
}

BBoxHead::Predictions BBoxHead::forward(const Variable& roi_feats) const {
  const ModuleScope scope(path());
  const Variable x = pool_if_asked(roi_feats);
  return predict(x, x);
}

BBoxHead::Predictions BBoxHead::predict(const Variable& cls_feat, const Variable& reg_feat) const {
  return {cast(fc_cls_->forward(cls_feat), DType::kF32), cast(fc_reg_->forward(reg_feat), DType::kF32)};
}

void BBoxHead::check_labels(const Tensors& gt_labels) const {
  for (const Tensor& image : gt_labels) {
    for (const int64_t label : image.to_vector<int64_t>()) {
      if (label >= 0 && label < num_classes_) continue;
      throw UserError(str_cat(path(), ": a ground truth has label ", label, ", allowed are 0..",
                              num_classes_ - 1,
                              "; set num_classes to the number of classes of the data set"));
    }
  }
}

BBoxTargets BBoxHead::get_targets(const SamplingResults& sampled, const RCNNTrainCfg& cfg) const {
  Tensors bboxes, labels, label_weights, bbox_targets, bbox_weights;
  std::vector<int64_t> pos_rows;
  int64_t row = 0;
  for (const SamplingResult& image : sampled) {
    const int64_t num_pos = image.pos_bboxes.dim(0);
    const int64_t num_neg = image.neg_bboxes.dim(0);
    const Device device = image.pos_bboxes.device();
    for (int64_t i = 0; i < num_pos; ++i) pos_rows.push_back(row + i);
    row += num_pos + num_neg;
    bboxes.push_back(image.bboxes());
    labels.push_back(image.pos_gt_labels);
    labels.push_back(Tensor::full({num_neg}, static_cast<double>(num_classes_), DType::kI64, device));
    label_weights.push_back(Tensor::full({num_pos}, cfg.pos_weight, DType::kF32, device));
    label_weights.push_back(Tensor::full({num_neg}, 1, DType::kF32, device));
    bbox_targets.push_back(reg_decoded_bbox_ ? image.pos_gt_bboxes
                                             : bbox_coder_->encode(image.pos_bboxes, image.pos_gt_bboxes));
    bbox_targets.push_back(Tensor::zeros({num_neg, 4}, DType::kF32, device));
    bbox_weights.push_back(Tensor::full({num_pos, 4}, 1, DType::kF32, device));
    bbox_weights.push_back(Tensor::zeros({num_neg, 4}, DType::kF32, device));
  }
  return {concat(bboxes),       concat(labels),       concat(label_weights),
          concat(bbox_targets), concat(bbox_weights), std::move(pos_rows)};
}

LossDict BBoxHead::loss(const Predictions& predictions, const BBoxTargets& targets) const {
  const ModuleScope scope(path());
  const double counted = static_cast<double>(targets.labels.numel());  // pos_weight > 0: all weigh something
  LossDict losses;
  losses.add("loss_cls", (*loss_cls_)(predictions.cls_score, targets.labels,
                                      {targets.label_weights, std::max(1.0, counted)}));
  losses.add("acc", accuracy(predictions.cls_score, targets.labels));
  losses.add("loss_bbox", bbox_loss(predictions.bbox_pred, targets));
  return losses;
}

Tensor BBoxHead::hardness(const Variable& cls_score, const Tensor& labels) const {
  const NoGradGuard no_grad;
  const Tensor background = Tensor::full({cls_score.dim(0)}, static_cast<double>(num_classes_), DType::kI64);
  LossWeights each;
  each.reduction_override = Reduction::kNone;
  const Variable loss =
      (*loss_cls_)(cls_score, (labels.defined() ? labels : background).to(cls_score.device()), each);
  return loss.value().rank() == 1 ? loss.value() : sum_of_rows(loss).value();  // sigmoids: of all classes
}

// Over the positives, each with the deltas of its class, divided by the number of all RoIs.
Variable BBoxHead::bbox_loss(const Variable& bbox_pred, const BBoxTargets& targets) const {
  const int64_t num_pos = static_cast<int64_t>(targets.pos_rows.size());
  const Tensor pos_inds = Tensor::from(targets.pos_rows, {num_pos}).to(targets.labels.device());
  Variable pos_pred = gather_rows(bbox_pred, pos_inds);
  if (num_pos == 0) return sum(pos_pred);  // 0, and keeps the head on the tape
  const auto gather = [&](const Tensor& all) { return gather_rows(all, pos_inds).value(); };
  if (!reg_class_agnostic_) pos_pred = gather_group(pos_pred, gather(targets.labels), 4);
  if (reg_decoded_bbox_) pos_pred = bbox_coder_->decode(gather(targets.bboxes), pos_pred, std::nullopt);
  return (*loss_bbox_)(pos_pred, gather(targets.bbox_targets),
                       {gather(targets.bbox_weights), static_cast<double>(targets.labels.numel())});
}

Tensor BBoxHead::regress_by_class(const Tensor& bboxes, const Tensor& labels, const Tensor& bbox_pred,
                                  const ImgMeta& meta) const {
  const Tensor deltas = reg_class_agnostic_ ? bbox_pred : gather_group(bbox_pred, labels, 4).value();
  return bbox_coder_->decode(bboxes, deltas, meta.img_shape);
}

Tensor BBoxHead::foreground_argmax(const Tensor& cls_score) const {
  return argmax_rows(cls_score, num_classes_);
}

BBoxHead::Decoded BBoxHead::decode(const Tensor& bboxes, const Tensor& cls_score, const Tensor& bbox_pred,
                                   const ImgMeta& meta) const {
  return {bbox_coder_->decode(bboxes, bbox_pred, meta.img_shape), softmax_rows(cls_score)};
}

MulticlassNmsResult BBoxHead::get_bboxes(const Tensor& bboxes, const Tensor& cls_score,
                                         const Tensor& bbox_pred, const ImgMeta& meta, bool rescale,
                                         const RCNNTestCfg& cfg) const {
  auto [boxes, scores] = decode(bboxes, cls_score, bbox_pred, meta);
  if (rescale) boxes = bbox_mapping_back(boxes, meta.img_shape, meta.scale_factor, /*flip=*/false);
  return multiclass_nms(boxes.to(scores.device()), scores, cfg.score_thr, cfg.nms, cfg.max_per_img);
}

OSPREY_REGISTER(BBoxHead, BBoxHead);
OSPREY_DEFINE_REGISTRY(BBoxHead, "bbox head");

}  // namespace osprey
