#include "models/dense_heads/rpn_head.h"

#include <algorithm>

#include "core/bbox/transforms.h"
#include "core/nn/init.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduce.h"
#include "core/ops/shape_ops.h"
#include "models/dense_heads/best_rows.h"
#include "models/finite_boxes.h"

namespace osprey {
namespace {

std::optional<ProposalCfg> read_proposals(const ConfigNode& cfg) {
  if (cfg.is_null()) return std::nullopt;
  return ProposalCfg::from(cfg);
}

// Proposals f32 (n, 5), flipped and scaled back.
Tensor in_file_pixels(const Tensor& proposals, const ImgMeta& meta) {
  Tensor mapped = proposals.to(kCPU).clone();
  float* row = mapped.mutable_data<float>();
  for (int64_t i = 0; i < mapped.dim(0); ++i, row += 5) {
    const Tensor box = Tensor::from({row[0], row[1], row[2], row[3]}, {1, 4});
    const Tensor back =
        bbox_mapping_back(box, meta.img_shape, meta.scale_factor, meta.flip, meta.flip_direction);
    std::copy_n(back.data<float>(), 4, row);
  }
  return mapped;
}

}  // namespace

RPNHead::RPNHead(const ConfigNode& cfg)
    : AnchorHead(cfg, /*num_classes=*/1, Role::kProposesRegions),
      rpn_conv_(add_child(
          "rpn_conv", std::make_unique<Conv2d>(in_channels_, feat_channels_, 3, Conv2dParams::square(1, 1)))),
      rpn_cls_(add_child("rpn_cls",
                         std::make_unique<Conv2d>(feat_channels_, num_anchors_ * cls_out_channels_, 1))),
      rpn_reg_(add_child("rpn_reg", std::make_unique<Conv2d>(feat_channels_, num_anchors_ * 4, 1))),
      train_proposals_(read_proposals(cfg.find("proposal_cfg"))),
      test_proposals_(read_proposals(cfg.find("test_cfg"))) {
  if (!train_proposals_) train_proposals_ = test_proposals_;
}

void RPNHead::init_weights(uint64_t seed) {
  for (Conv2d* conv : {rpn_conv_, rpn_cls_, rpn_reg_}) normal_init(*conv, seed, 0.01);
}

std::pair<Variable, Variable> RPNHead::forward_single(const Variable& x) const {
  const Variable hidden = rpn_conv_->forward_relu(x);
  return {rpn_cls_->forward(hidden), rpn_reg_->forward(hidden)};
}

DenseHead::TrainResult RPNHead::forward_train(const Variables& feats, const Batch& batch) const {
  OSPREY_REQUIRE(train_proposals_, path(), ": needs model.train_cfg.rpn_proposal or model.test_cfg.rpn");
  const Predictions predictions = forward(feats);
  const LevelLosses level_losses = loss(predictions, batch, /*class_agnostic=*/true);
  LossDict losses;
  losses.add("loss_rpn_cls", level_losses.loss_cls);
  losses.add("loss_rpn_bbox", level_losses.loss_bbox);
  const FiniteBoxes proposals = keep_finite(get_bboxes(predictions, batch.img_metas, *train_proposals_));
  return {fail_unless_finite(proposals, losses, "loss_rpn_bbox"), proposals.boxes};
}

Tensors RPNHead::simple_test_rpn(const Variables& feats, const std::vector<ImgMeta>& img_metas) const {
  OSPREY_REQUIRE(test_proposals_, path(), ": needs model.test_cfg.rpn");
  return keep_finite_or_warn(get_bboxes(forward(feats), img_metas, *test_proposals_), path());
}

Tensors RPNHead::aug_test_rpn(const std::vector<Variables>& feats,
                              const std::vector<std::vector<ImgMeta>>& img_metas) const {
  std::vector<Tensors> by_image(img_metas.at(0).size());
  for (size_t a = 0; a < feats.size(); ++a) {
    const Tensors proposals = simple_test_rpn(feats[a], img_metas[a]);
    for (size_t i = 0; i < proposals.size(); ++i) {
      by_image[i].push_back(in_file_pixels(proposals[i], img_metas[a][i]));
    }
  }
  Tensors merged;
  for (const Tensors& proposals : by_image)
    merged.push_back(merge_aug_proposals(proposals, *test_proposals_));
  return merged;
}

// NMS over the proposals f32 (n, 5) of all augmentations of one image.
Tensor RPNHead::merge_aug_proposals(const Tensors& proposals, const ProposalCfg& cfg) const {
  const Tensor all = concat(proposals).to(kCPU);
  Tensor boxes({all.dim(0), 4}, DType::kF32), scores({all.dim(0)}, DType::kF32);
  for (int64_t i = 0; i < all.dim(0); ++i) {
    std::copy_n(all.data<float>() + i * 5, 4, boxes.mutable_data<float>() + i * 4);
    scores.mutable_data<float>()[i] = all.data<float>()[i * 5 + 4];
  }
  const Tensor kept = gather_rows(all, nms(boxes, scores, cfg.nms.iou_threshold)).value();
  return kept.slice(0, std::min(kept.dim(0), cfg.max_per_img));
}

Tensors RPNHead::get_bboxes(const Predictions& predictions, const std::vector<ImgMeta>& img_metas,
                            const ProposalCfg& cfg) const {
  const NoGradGuard no_grad;
  const Device device = predictions.cls_scores.front().device();
  const Tensors anchors = anchor_generator_->grid_anchors(predictions.featmap_sizes(), device);
  std::vector<PendingNms> pending;
  for (size_t i = 0; i < img_metas.size(); ++i) {
    pending.push_back(propose(predictions, anchors, static_cast<int64_t>(i), img_metas[i], cfg));
  }
  Tensors proposals;
  for (const NmsResult& kept : finish_nms(pending)) {
    proposals.push_back(kept.dets.slice(0, std::min(kept.dets.dim(0), cfg.max_per_img)));
  }
  return proposals;
}

// The best anchors of each level, decoded; NMS within each level.
PendingNms RPNHead::propose(const Predictions& predictions, const Tensors& anchors, int64_t image,
                            const ImgMeta& meta, const ProposalCfg& cfg) const {
  Tensors mlvl_scores, mlvl_deltas, mlvl_anchors, mlvl_ids;
  for (size_t l = 0; l < anchors.size(); ++l) {
    Tensor scores = objectness(predictions.cls_scores[l].value()[image].reshape({-1, cls_out_channels_}));
    Tensor deltas = predictions.bbox_preds[l].value()[image].reshape({-1, 4});
    Tensor level_anchors = anchors[l];
    if (cfg.nms_pre > 0 && scores.numel() > cfg.nms_pre) {
      const Tensor rows = top_rows(scores, cfg.nms_pre);
      scores = gather_rows(scores, rows).value();
      deltas = gather_rows(deltas, rows).value();
      level_anchors = gather_rows(level_anchors, rows).value();
    }
    const double id = cfg.nms_across_levels ? 0 : static_cast<double>(l);
    mlvl_ids.push_back(Tensor::full(scores.shape(), id, DType::kI64, scores.device()));
    mlvl_scores.push_back(scores);
    mlvl_deltas.push_back(deltas);
    mlvl_anchors.push_back(level_anchors);
  }
  Tensor boxes = bbox_coder_->decode(concat(mlvl_anchors), concat(mlvl_deltas), meta.img_shape);
  Tensor scores = concat(mlvl_scores);
  Tensor ids = concat(mlvl_ids);
  if (cfg.min_bbox_size > 0) {
    const Tensor rows = rows_of_min_size(boxes, cfg.min_bbox_size);
    boxes = gather_rows(boxes, rows).value();
    scores = gather_rows(scores, rows).value();
    ids = gather_rows(ids, rows).value();
  }
  return start_batched_nms(boxes, scores, ids, cfg.nms);
}

// cls_score (n, cls_out_channels) -> probability of an object (n).
Tensor RPNHead::objectness(const Tensor& cls_score) const {
  if (loss_cls_->use_sigmoid()) return sigmoid(cls_score).value().reshape({-1});
  const Tensor first = Tensor::zeros({cls_score.dim(0)}, DType::kI64, cls_score.device());
  return gather_channel(softmax_rows(cls_score), first).value();
}

OSPREY_REGISTER(DenseHead, RPNHead);

}  // namespace osprey
