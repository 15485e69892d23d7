#pragma once

#include "models/dense_heads/dense_head.h"
#include "models/detectors/backbone_detector.h"

namespace osprey {

// img -> backbone -> neck -> bbox_head, which finds the objects at every cell.
//
// Keys: backbone, neck (optional), bbox_head (a dense head that finds objects), pretrained or
// backbone.init_cfg, and train_cfg, test_cfg, which are handed to the head.
class SingleStageDetector : public BackboneDetector {
 public:
  explicit SingleStageDetector(const ConfigNode& cfg);
  // The head's losses, e.g. loss_cls, loss_bbox.
  LossDict forward_train(const Batch& batch) override;
  std::vector<DetectionResult> simple_test(const Batch& batch, bool rescale) override;
  std::vector<DetectionResult> aug_test(const std::vector<Batch>& batches, bool rescale) override;
  std::vector<std::pair<std::string, int64_t>> num_classes_by_head() const override;

 private:
  DenseHead* bbox_head_;
};

}  // namespace osprey
