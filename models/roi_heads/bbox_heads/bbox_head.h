#pragma once

#include <memory>

#include "core/bbox/bbox_coder.h"
#include "core/detection/detector.h"
#include "core/nn/linear.h"
#include "losses/loss.h"
#include "models/roi_heads/rcnn_cfg.h"

namespace osprey {

// What every sampled RoI should have predicted, images one after the other, positives first within each.
struct BBoxTargets {
  Tensor bboxes;                  // f32 (n, 4), the RoIs
  Tensor labels;                  // i64 (n), num_classes = background
  Tensor label_weights;           // f32 (n)
  Tensor bbox_targets;            // f32 (n, 4), encoded, or boxes with reg_decoded_bbox
  Tensor bbox_weights;            // f32 (n, 4)
  std::vector<int64_t> pos_rows;  // the rows that belong to an object, known without looking at labels
};

// Classifies RoIs and regresses their boxes (Girshick, "Fast R-CNN"). As a type of its own: two linear layers
// on the pooled feature. Keys: with_avg_pool, roi_feat_size (7), in_channels (256), num_classes (80),
// bbox_coder, reg_class_agnostic, reg_decoded_bbox, loss_cls, loss_bbox. Registered in
// models/roi_heads/bbox_heads.
class BBoxHead : public Module {
 public:
  explicit BBoxHead(const ConfigNode& cfg);

  // Both f32, whatever the precision of the weights.
  struct Predictions {
    Variable cls_score;  // (n, num_classes + 1) logits, background last
    Variable bbox_pred;  // (n, 4), or (n, num_classes * 4) when the regression is per class
  };
  // roi_feats (n, roi_feat_size, roi_feat_size, in_channels).
  virtual Predictions forward(const Variable& roi_feats) const;

  // Throws UserError for a label outside [0, num_classes).
  void check_labels(const Tensors& gt_labels) const;
  BBoxTargets get_targets(const SamplingResults& sampled, const RCNNTrainCfg& cfg) const;
  // loss_cls, acc (percent), loss_bbox. Without RoIs, or without positives, the losses are 0 and still reach
  // every parameter.
  LossDict loss(const Predictions& predictions, const BBoxTargets& targets) const;

  // The classification loss of each RoI, f32 (n), off the tape: what OHEMSampler ranks by. labels i64 (n), or
  // undefined when all are background.
  Tensor hardness(const Variable& cls_score, const Tensor& labels) const;

  // Boxes f32 (n, 4) moved by the deltas of their own class; bboxes (n, 4), labels i64 (n) in [0,
  // num_classes), ignored when the regression is class-agnostic. Clipped to the image.
  Tensor regress_by_class(const Tensor& bboxes, const Tensor& labels, const Tensor& bbox_pred,
                          const ImgMeta& meta) const;
  // i64 (n): the best class other than background.
  Tensor foreground_argmax(const Tensor& cls_score) const;

  // Boxes f32 (n, 4) or (n, num_classes * 4), clipped to the image, in pixels of the network's input, and
  // probabilities f32 (n, num_classes + 1). bboxes (n, 4) are the RoIs of one image.
  struct Decoded {
    Tensor bboxes, scores;
  };
  Decoded decode(const Tensor& bboxes, const Tensor& cls_score, const Tensor& bbox_pred,
                 const ImgMeta& meta) const;
  // Its detections. In pixels of the file when `rescale`.
  MulticlassNmsResult get_bboxes(const Tensor& bboxes, const Tensor& cls_score, const Tensor& bbox_pred,
                                 const ImgMeta& meta, bool rescale, const RCNNTestCfg& cfg) const;

  int64_t num_classes() const { return num_classes_; }
  void init_weights(uint64_t seed) override;

 protected:
  // cls_in, reg_in: (features), or (h, w, c) of a map that is flattened.
  BBoxHead(const ConfigNode& cfg, const Shape& cls_in, const Shape& reg_in);
  Predictions predict(const Variable& cls_feat, const Variable& reg_feat) const;
  Variable pool_if_asked(const Variable& roi_feats) const;

  const bool with_avg_pool_;
  const int64_t roi_feat_size_;

 private:
  Variable bbox_loss(const Variable& bbox_pred, const BBoxTargets& targets) const;

  const int64_t num_classes_;
  const bool reg_class_agnostic_, reg_decoded_bbox_;
  std::unique_ptr<BBoxCoder> bbox_coder_;
  Loss *loss_cls_, *loss_bbox_;
  Linear *fc_cls_, *fc_reg_;
};

OSPREY_DECLARE_REGISTRY(BBoxHead);

}  // namespace osprey
