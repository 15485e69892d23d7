#pragma once

#include "models/dense_heads/dense_head.h"
#include "models/detectors/backbone_detector.h"
#include "models/roi_heads/roi_head.h"

namespace osprey {

// img -> backbone -> neck -> rpn_head (proposals) -> roi_head.
//
// Keys: backbone, neck (optional), rpn_head, roi_head, pretrained or backbone.init_cfg, and train_cfg {rpn,
// rpn_proposal, rcnn}, test_cfg {rpn, rcnn}, whose parts are handed to the heads.
class TwoStageDetector : public BackboneDetector {
 public:
  explicit TwoStageDetector(const ConfigNode& cfg);
  // A shared head, a stage of a ResNet, starts from the backbone's checkpoint too.
  void init_weights(uint64_t seed) override;
  // loss_rpn_cls, loss_rpn_bbox, then the RoI head's.
  LossDict forward_train(const Batch& batch) override;
  std::vector<DetectionResult> simple_test(const Batch& batch, bool rescale) override;
  std::vector<DetectionResult> aug_test(const std::vector<Batch>& batches, bool rescale) override;
  std::vector<std::pair<std::string, int64_t>> num_classes_by_head() const override;

  // Proposals per image f32 (n, 5), in pixels of the network's input.
  Tensors propose(const Batch& batch) const;

 private:
  DenseHead* rpn_head_;
  RoIHead* roi_head_;
};

}  // namespace osprey
