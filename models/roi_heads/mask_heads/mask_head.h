#pragma once

#include <memory>

#include "core/detection/detector.h"
#include "losses/loss.h"
#include "models/roi_heads/rcnn_cfg.h"

namespace osprey {

// Predicts a mask inside each RoI (He et al., "Mask R-CNN"). Common keys: num_classes (80), class_agnostic,
// loss_mask. Registered in models/roi_heads/mask_heads.
class MaskHead : public Module {
 public:
  // roi_feats (n, s, s, in_channels) -> logits f32 (n, m, m, num_classes), or 1 channel when class_agnostic.
  virtual Variable forward(const Variable& roi_feats) const = 0;

  // f32 (p, h, w) of 0 and 1 for the positives of all images: the ground truth masks inside their boxes.
  Tensor get_targets(const SamplingResults& sampled, const std::vector<InstanceMasks>& gt_masks,
                     const RCNNTrainCfg& cfg) const;
  // loss_mask over the logits of each RoI's own class; labels i64 (p). 0 without positives, and still on the
  // tape.
  LossDict loss(const Variable& mask_pred, const Tensor& mask_targets, const Tensor& labels) const;

  // Probabilities f32 (k, m, m) of the masks of the given classes.
  Tensor probabilities(const Variable& mask_pred, const Tensor& labels) const;
  // Masks of one image: probabilities (k, m, m) at boxes (k, 4) in pixels of the network's input. Of the size
  // of the file when `rescale`, else of the resized image.
  std::vector<Rle> get_seg_masks(const Tensor& probabilities, const Tensor& bboxes, const ImgMeta& meta,
                                 bool rescale, const RCNNTestCfg& cfg) const;

  int64_t num_classes() const { return num_classes_; }

 protected:
  explicit MaskHead(const ConfigNode& cfg);
  int64_t logit_channels() const { return class_agnostic_ ? 1 : num_classes_; }

 private:
  Variable of_class(const Variable& mask_pred, const Tensor& labels) const;

  const int64_t num_classes_;
  const bool class_agnostic_;
  Loss* loss_mask_;
};

OSPREY_DECLARE_REGISTRY(MaskHead);

}  // namespace osprey
