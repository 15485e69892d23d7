#pragma once

#include <memory>
#include <utility>

#include "core/anchor/anchor_generator.h"
#include "core/bbox/bbox_coder.h"
#include "losses/loss.h"
#include "models/dense_heads/anchor_targets.h"
#include "models/dense_heads/dense_head.h"

namespace osprey {

// What RPN, RetinaNet and their relatives share: every cell of every level classifies and regresses A
// anchors. Keys as in mmdetection: in_channels, feat_channels, anchor_generator, bbox_coder, loss_cls,
// loss_bbox, reg_decoded_bbox, train_cfg, test_cfg. With a sigmoid loss there are num_classes scores per
// anchor, else one more for the background, the last.
class AnchorHead : public DenseHead {
 protected:
  AnchorHead(const ConfigNode& cfg, int64_t num_classes);

  // Per level f32: cls_scores (n, h, w, A * cls_out_channels), bbox_preds (n, h, w, A * 4).
  struct Predictions {
    Variables cls_scores, bbox_preds;
    std::vector<MapSize> featmap_sizes() const;
  };
  Predictions forward(const Variables& feats) const;
  // One level's {cls_score, bbox_pred}, in the precision of the weights.
  virtual std::pair<Variable, Variable> forward_single(const Variable& x) const = 0;

  // Per level, scalars: weighted sums over all images divided by the number of samples in all levels.
  struct LevelLosses {
    Variables loss_cls, loss_bbox;
  };
  LevelLosses loss(const Predictions& predictions, const Batch& batch, bool class_agnostic) const;

  const int64_t in_channels_, feat_channels_, num_classes_;
  std::unique_ptr<AnchorGeneratorBase> anchor_generator_;
  std::unique_ptr<BBoxCoder> bbox_coder_;
  std::unique_ptr<Loss> loss_cls_, loss_bbox_;
  int64_t num_anchors_, cls_out_channels_;

 private:
  const bool reg_decoded_bbox_;  // loss_bbox compares boxes, not deltas
  bool sampling_;  // false: every anchor takes part, and losses are divided by the positives alone
  std::unique_ptr<AnchorTargetMaker> targets_;  // null without train_cfg
};

}  // namespace osprey
