#include "models/dense_heads/anchor_head.h"

#include "core/base/logging.h"
#include "core/bbox/transforms.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduce.h"
#include "core/ops/row_ops.h"
#include "core/ops/shape_ops.h"
#include "models/dense_heads/best_rows.h"
#include "models/find_or.h"
#include "models/finite_boxes.h"
#include "models/roi_heads/detections.h"

namespace osprey {
namespace {

// mmdetection's default arguments.
constexpr char kAnchorGenerator[] =
    "{type: AnchorGenerator, scales: [8, 16, 32], ratios: [0.5, 1.0, 2.0], strides: [4, 8, 16, 32, 64]}";
constexpr char kBBoxCoder[] =
    "{type: DeltaXYWHBBoxCoder, target_means: [0., 0., 0., 0.], target_stds: [1., 1., 1., 1.]}";
constexpr char kLossCls[] = "{type: CrossEntropyLoss, use_sigmoid: true, loss_weight: 1.0}";
constexpr char kLossBBox[] = "{type: SmoothL1Loss, beta: 0.1111111111111111, loss_weight: 1.0}";

bool samples_anchors(const ConfigNode& loss_cls) {
  const std::string type = loss_cls.get<std::string>("type");
  return type != "FocalLoss" && type != "GHMC" && type != "QualityFocalLoss";
}

// The best probability of an object per row, or, with sigmoids, the best logit, which has the same order.
// cls_score f32 (n, classes), with a background column when softmax.
Tensor best_of_classes(const Tensor& cls_score, bool use_sigmoid) {
  if (use_sigmoid) return max_of_rows(cls_score, cls_score.dim(1));
  return max_of_rows(softmax_rows(cls_score), cls_score.dim(1) - 1);
}

// Probabilities f32 (n, classes + 1) of logits (n, cls_out_channels).
Tensor probabilities(const Tensor& cls_score, bool use_sigmoid) {
  return use_sigmoid ? with_zero_column(sigmoid(cls_score).value()) : softmax_rows(cls_score);
}

}  // namespace

AnchorHead::AnchorHead(const ConfigNode& cfg, int64_t num_classes, Role role)
    : in_channels_(cfg.get<int64_t>("in_channels", positive())),
      feat_channels_(cfg.get("feat_channels", int64_t{256}, positive())),
      num_classes_(num_classes),
      anchor_generator_(build<AnchorGeneratorBase>(find_or(cfg, "anchor_generator", kAnchorGenerator))),
      bbox_coder_(build<BBoxCoder>(find_or(cfg, "bbox_coder", kBBoxCoder))),
      num_anchors_(anchor_generator_->num_base_anchors(0)),
      role_(role),
      reg_decoded_bbox_(cfg.get("reg_decoded_bbox", false)) {
  const ConfigNode loss_cls = find_or(cfg, "loss_cls", kLossCls);
  loss_cls_ = add_child("loss_cls", build<Loss>(loss_cls));
  loss_bbox_ = add_child("loss_bbox", build<Loss>(find_or(cfg, "loss_bbox", kLossBBox)));
  sampling_ = samples_anchors(loss_cls);
  cls_out_channels_ = loss_cls_->use_sigmoid() ? num_classes : num_classes + 1;

  const ConfigNode train_cfg = cfg.find("train_cfg");
  if (!train_cfg.is_null()) {
    targets_ = std::make_unique<AnchorTargetMaker>(train_cfg, num_classes, sampling_, reg_decoded_bbox_);
  }
  if (role == Role::kFindsObjects && !cfg.find("test_cfg").is_null()) test_cfg_.emplace(cfg["test_cfg"]);
}

std::vector<MapSize> AnchorHead::Predictions::featmap_sizes() const {
  std::vector<MapSize> sizes;
  for (const Variable& scores : cls_scores) sizes.push_back({scores.dim(1), scores.dim(2)});
  return sizes;
}

AnchorHead::Predictions AnchorHead::forward(const Variables& feats) const {
  OSPREY_REQUIRE(feats.size() == anchor_generator_->num_levels(), path(), ": the neck gives ", feats.size(),
                 " levels, anchor_generator.strides names ", anchor_generator_->num_levels());
  const ModuleScope scope(path());
  Predictions predictions;
  for (const Variable& x : feats) {
    const auto [cls_score, bbox_pred] = forward_single(x);
    // Targets, losses and decoding are f32 whatever the model is.
    predictions.cls_scores.push_back(cast(cls_score, DType::kF32));
    predictions.bbox_preds.push_back(cast(bbox_pred, DType::kF32));
  }
  return predictions;
}

AnchorHead::LevelLosses AnchorHead::loss(const Predictions& predictions, const Batch& batch,
                                         bool class_agnostic) const {
  OSPREY_REQUIRE(targets_, path(), ": training needs model.train_cfg");
  const ModuleScope scope(path());
  const std::vector<MapSize> sizes = predictions.featmap_sizes();
  const Device device = predictions.cls_scores.front().device();
  const Tensors anchors = anchor_generator_->grid_anchors(sizes, device);
  const AnchorTargets targets =
      targets_->make(anchors, *anchor_generator_, sizes, *bbox_coder_, batch, class_agnostic);
  const double num_total_samples =
      static_cast<double>(targets.num_total_pos + (sampling_ ? targets.num_total_neg : 0));
  LevelLosses losses;
  for (size_t l = 0; l < anchors.size(); ++l) {
    const Variable cls_score = reshape(predictions.cls_scores[l], {-1, cls_out_channels_});
    Variable bbox_pred = reshape(predictions.bbox_preds[l], {-1, 4});
    if (reg_decoded_bbox_) {
      const Tensor boxes = concat(Tensors(static_cast<size_t>(batch.size()), anchors[l]));
      bbox_pred = bbox_coder_->decode(boxes, bbox_pred, std::nullopt);
    }
    losses.loss_cls.push_back(
        (*loss_cls_)(cls_score, targets.labels[l], {targets.label_weights[l], num_total_samples}));
    losses.loss_bbox.push_back(
        (*loss_bbox_)(bbox_pred, targets.bbox_targets[l], {targets.bbox_weights[l], num_total_samples}));
  }
  return losses;
}

DenseHead::TrainResult AnchorHead::forward_train(const Variables& feats, const Batch& batch) const {
  const LevelLosses level_losses = loss(forward(feats), batch, /*class_agnostic=*/false);
  LossDict losses;
  losses.add("loss_cls", level_losses.loss_cls);
  losses.add("loss_bbox", level_losses.loss_bbox);
  return {losses, {}};
}

std::vector<std::pair<std::string, int64_t>> AnchorHead::num_classes_by_head() const {
  if (proposes_regions()) return {};
  return {{path(), num_classes_}};
}

// --- Testing.

const DenseTestCfg& AnchorHead::test_cfg() const {
  OSPREY_REQUIRE(test_cfg_, path(), ": testing needs model.test_cfg");
  return *test_cfg_;
}

std::vector<DetectionResult> AnchorHead::simple_test(const Variables& feats,
                                                     const std::vector<ImgMeta>& img_metas,
                                                     bool rescale) const {
  std::vector<DetectionResult> results;
  const std::vector<Candidates> candidates = get_bboxes(forward(feats), img_metas);
  for (size_t i = 0; i < img_metas.size(); ++i) {
    Tensor bboxes = candidates[i].bboxes;
    if (rescale) bboxes = bbox_mapping_back(bboxes, img_metas[i].img_shape, img_metas[i].scale_factor, false);
    results.push_back(select({bboxes, candidates[i].scores}));
  }
  return results;
}

std::vector<DetectionResult> AnchorHead::aug_test(const std::vector<Variables>& feats,
                                                  const std::vector<std::vector<ImgMeta>>& img_metas,
                                                  bool rescale) const {
  std::vector<Tensors> bboxes(img_metas.at(0).size()), scores(img_metas.at(0).size());  // [image][aug.]
  for (size_t a = 0; a < feats.size(); ++a) {
    const std::vector<Candidates> augmented = get_bboxes(forward(feats[a]), img_metas[a]);
    for (size_t i = 0; i < augmented.size(); ++i) {
      const ImgMeta& meta = img_metas[a][i];
      bboxes[i].push_back(bbox_mapping_back(augmented[i].bboxes, meta.img_shape, meta.scale_factor, meta.flip,
                                            meta.flip_direction));
      scores[i].push_back(augmented[i].scores.to(bboxes[i].back().device()));
    }
  }
  std::vector<DetectionResult> results;
  for (size_t i = 0; i < bboxes.size(); ++i) {
    results.push_back(select({concat(bboxes[i]), concat(scores[i])}));
    const ImgMeta& meta = img_metas[0][i];
    if (!rescale)
      results[i].bboxes = bbox_mapping(results[i].bboxes, meta.img_shape, meta.scale_factor, false);
  }
  return results;
}

std::vector<AnchorHead::Candidates> AnchorHead::get_bboxes(const Predictions& predictions,
                                                           const std::vector<ImgMeta>& img_metas) const {
  const NoGradGuard no_grad;
  const Device device = predictions.cls_scores.front().device();
  const Tensors anchors = anchor_generator_->grid_anchors(predictions.featmap_sizes(), device);
  std::vector<Candidates> candidates;
  for (size_t i = 0; i < img_metas.size(); ++i) {
    candidates.push_back(candidates_of(predictions, anchors, static_cast<int64_t>(i), img_metas[i]));
  }
  return candidates;
}

AnchorHead::Candidates AnchorHead::candidates_of(const Predictions& predictions, const Tensors& anchors,
                                                 int64_t image, const ImgMeta& meta) const {
  const DenseTestCfg& cfg = test_cfg();
  const bool use_sigmoid = loss_cls_->use_sigmoid();
  Tensors mlvl_logits, mlvl_deltas, mlvl_anchors;
  for (size_t l = 0; l < anchors.size(); ++l) {
    Tensor logits = predictions.cls_scores[l].value()[image].reshape({-1, cls_out_channels_});
    Tensor deltas = predictions.bbox_preds[l].value()[image].reshape({-1, 4});
    Tensor level_anchors = anchors[l].to(deltas.device());
    if (cfg.nms_pre > 0 && logits.dim(0) > cfg.nms_pre) {
      const Tensor rows = top_rows(best_of_classes(logits, use_sigmoid), cfg.nms_pre);
      logits = gather_rows(logits, rows).value();
      deltas = gather_rows(deltas, rows).value();
      level_anchors = gather_rows(level_anchors, rows).value();
    }
    mlvl_logits.push_back(logits);
    mlvl_deltas.push_back(deltas);
    mlvl_anchors.push_back(level_anchors);
  }
  Candidates found{bbox_coder_->decode(concat(mlvl_anchors), concat(mlvl_deltas), meta.img_shape),
                   probabilities(concat(mlvl_logits), use_sigmoid)};
  if (cfg.min_bbox_size > 0) {
    const Tensor rows = rows_of_min_size(found.bboxes, cfg.min_bbox_size);
    found = {gather_rows(found.bboxes, rows).value(),
             gather_rows(found.scores, rows.to(found.scores.device())).value()};
  }
  return found;
}

// NMS within each class, then the best of all, grouped by class.
DetectionResult AnchorHead::select(const Candidates& candidates) const {
  const DenseTestCfg& cfg = test_cfg();
  const Tensor bboxes = candidates.bboxes.to(candidates.scores.device());
  MulticlassNmsResult kept =
      multiclass_nms(bboxes, candidates.scores, cfg.score_thr, cfg.nms, cfg.max_per_img);
  const std::vector<int64_t> finite = finite_rows(kept.dets);
  const int64_t count = static_cast<int64_t>(finite.size());
  if (count < kept.dets.dim(0)) {
    log_warning(path() + " gave non-finite boxes; they were left out of the result");
    const Tensor rows = Tensor::from(finite, {count}).to(kept.dets.device());
    kept = {gather_rows(kept.dets, rows).value(), gather_rows(kept.labels, rows).value(), {}};
  }
  return to_result(Detections::from(kept));
}

}  // namespace osprey
