#pragma once

#include <optional>

#include "models/roi_heads/bbox_heads/bbox_head.h"
#include "models/roi_heads/detections.h"
#include "models/roi_heads/mask_heads/mask_head.h"
#include "models/roi_heads/rcnn_cfg.h"
#include "models/roi_heads/roi_head.h"

namespace osprey {

// Testing, plain and augmented, of RoI heads with a box branch and an optional mask branch, however many
// stages they have: they say how proposals become scored boxes, and boxes become masks.
class RoITestMixin : public RoIHead {
 public:
  std::vector<DetectionResult> simple_test(const Variables& feats, const Tensors& proposals,
                                           const std::vector<ImgMeta>& img_metas,
                                           bool rescale) const override;
  std::vector<DetectionResult> aug_test(const std::vector<Variables>& feats, const Tensors& proposals,
                                        const std::vector<std::vector<ImgMeta>>& img_metas,
                                        bool rescale) const override;

 protected:
  explicit RoITestMixin(const ConfigNode& cfg);  // reads test_cfg

  // What the branches look at: the pyramid, and in HTC the map of the semantic branch.
  struct Context {
    Variables feats;
    Variable semantic_feat;
  };
  virtual Context look_at(const Variables& feats) const { return {feats, {}}; }

  // Per image: the RoIs f32 (n, 4) that the last box head saw, its deltas, and the scores (of all stages).
  struct ScoredBoxes {
    Tensors bboxes, cls_scores, bbox_preds;
  };
  virtual ScoredBoxes score_boxes(const Context& context, Tensors proposals,
                                  const std::vector<ImgMeta>& img_metas) const = 0;
  virtual const BBoxHead& last_bbox_head() const = 0;

  // Probabilities f32 (k, m, m) of the masks of classes `labels` in `rois` (k, 5).
  virtual Tensor mask_probabilities(const Context& context, const Tensor& rois,
                                    const Tensor& labels) const = 0;
  virtual const MaskHead* last_mask_head() const = 0;  // null without a mask branch

 private:
  const RCNNTestCfg& test_cfg() const;
  std::vector<Detections> merge_boxes(const std::vector<Context>& contexts, const Tensors& proposals,
                                      const std::vector<std::vector<ImgMeta>>& img_metas) const;
  Tensor merge_masks(const std::vector<Context>& contexts, const std::vector<Detections>& detections,
                     const std::vector<std::vector<ImgMeta>>& img_metas) const;

  std::optional<RCNNTestCfg> test_cfg_;
};

// The mean of tensors of one shape, summed in their order.
Tensor mean_of(const Tensors& tensors);

}  // namespace osprey
