#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/anchor/anchor_generator.h"
#include "core/bbox/bbox_coder.h"
#include "losses/loss.h"
#include "models/dense_heads/anchor_targets.h"
#include "models/dense_heads/dense_head.h"
#include "models/dense_heads/dense_test_cfg.h"

namespace osprey {

// What RPN, RetinaNet and their relatives share: every cell of every level classifies and regresses A
// anchors. Keys as in mmdetection: in_channels, feat_channels, anchor_generator, bbox_coder, loss_cls,
// loss_bbox, reg_decoded_bbox, train_cfg, test_cfg. With a sigmoid loss there are num_classes scores per
// anchor, else one more for the background, the last. A derived type says how a level becomes predictions
// (forward_single); one that finds objects needs nothing else.
class AnchorHead : public DenseHead {
 public:
  bool proposes_regions() const override { return role_ == Role::kProposesRegions; }
  // Losses: loss_cls, loss_bbox.
  TrainResult forward_train(const Variables& feats, const Batch& batch) const override;
  std::vector<DetectionResult> simple_test(const Variables& feats, const std::vector<ImgMeta>& img_metas,
                                           bool rescale) const override;
  // The candidates of all augmentations together go through one NMS.
  std::vector<DetectionResult> aug_test(const std::vector<Variables>& feats,
                                        const std::vector<std::vector<ImgMeta>>& img_metas,
                                        bool rescale) const override;
  std::vector<std::pair<std::string, int64_t>> num_classes_by_head() const override;

 protected:
  enum class Role { kProposesRegions, kFindsObjects };  // whose test_cfg it is given
  AnchorHead(const ConfigNode& cfg, int64_t num_classes, Role role);

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

  // What one image's anchors found before NMS: boxes f32 (n, 4) in pixels of the network's input, and
  // probabilities f32 (n, num_classes + 1), background last (0 with sigmoids). The best nms_pre of each
  // level.
  struct Candidates {
    Tensor bboxes, scores;
  };
  std::vector<Candidates> get_bboxes(const Predictions& predictions,
                                     const std::vector<ImgMeta>& img_metas) const;

  const int64_t in_channels_, feat_channels_, num_classes_;
  std::unique_ptr<AnchorGeneratorBase> anchor_generator_;
  std::unique_ptr<BBoxCoder> bbox_coder_;
  Loss *loss_cls_, *loss_bbox_;
  int64_t num_anchors_, cls_out_channels_;

 private:
  const DenseTestCfg& test_cfg() const;
  Candidates candidates_of(const Predictions& predictions, const Tensors& anchors, int64_t image,
                           const ImgMeta& meta) const;
  DetectionResult select(const Candidates& candidates) const;

  const Role role_;
  const bool reg_decoded_bbox_;  // loss_bbox compares boxes, not deltas
  bool sampling_;  // false: every anchor takes part, and losses are divided by the positives alone
  std::unique_ptr<AnchorTargetMaker> targets_;  // null without train_cfg
  std::optional<DenseTestCfg> test_cfg_;
};

}  // namespace osprey
