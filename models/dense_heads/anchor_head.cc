#include "models/dense_heads/anchor_head.h"

#include "core/ops/elementwise.h"
#include "core/ops/shape_ops.h"
#include "models/find_or.h"

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

}  // namespace

AnchorHead::AnchorHead(const ConfigNode& cfg, int64_t num_classes)
    : in_channels_(cfg.get<int64_t>("in_channels")),
      feat_channels_(cfg.get("feat_channels", int64_t{256})),
      num_classes_(num_classes),
      anchor_generator_(build<AnchorGeneratorBase>(find_or(cfg, "anchor_generator", kAnchorGenerator))),
      bbox_coder_(build<BBoxCoder>(find_or(cfg, "bbox_coder", kBBoxCoder))),
      loss_bbox_(build<Loss>(find_or(cfg, "loss_bbox", kLossBBox))),
      num_anchors_(anchor_generator_->num_base_anchors(0)),
      reg_decoded_bbox_(cfg.get("reg_decoded_bbox", false)) {
  const ConfigNode loss_cls = find_or(cfg, "loss_cls", kLossCls);
  loss_cls_ = build<Loss>(loss_cls);
  sampling_ = samples_anchors(loss_cls);
  cls_out_channels_ = loss_cls_->use_sigmoid() ? num_classes : num_classes + 1;

  const ConfigNode train_cfg = cfg.find("train_cfg");
  if (!train_cfg.is_null()) {
    targets_ = std::make_unique<AnchorTargetMaker>(train_cfg, num_classes, sampling_, reg_decoded_bbox_);
  }
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
  const Tensors anchors = anchor_generator_->grid_anchors(sizes);
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
      bbox_pred = bbox_coder_->decode(boxes.to(bbox_pred.device()), bbox_pred, std::nullopt);
    }
    losses.loss_cls.push_back(
        (*loss_cls_)(cls_score, targets.labels[l], {targets.label_weights[l], num_total_samples}));
    losses.loss_bbox.push_back(
        (*loss_bbox_)(bbox_pred, targets.bbox_targets[l], {targets.bbox_weights[l], num_total_samples}));
  }
  return losses;
}

}  // namespace osprey
