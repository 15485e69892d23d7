#pragma once

#include "core/detection/detector.h"
#include "models/backbones/backbone.h"
#include "models/dense_heads/dense_head.h"
#include "models/necks/neck.h"
#include "models/pretrained.h"

namespace osprey {

// img -> backbone -> neck -> bbox_head, which finds the objects at every cell.
//
// Keys: backbone, neck (optional), bbox_head (a dense head that finds objects), pretrained or
// backbone.init_cfg, and train_cfg, test_cfg, which are handed to the head.
class SingleStageDetector : public Detector {
 public:
  explicit SingleStageDetector(const ConfigNode& cfg);
  // The head's losses, e.g. loss_cls, loss_bbox.
  LossDict forward_train(const Batch& batch) override;
  std::vector<DetectionResult> simple_test(const Batch& batch, bool rescale) override;
  std::vector<DetectionResult> aug_test(const std::vector<Batch>& batches, bool rescale) override;
  std::vector<std::pair<std::string, int64_t>> num_classes_by_head() const override;
  // Also fills the backbone from its checkpoint, if it has one.
  void init_weights(uint64_t seed) override;

  // The pyramid of a batch of images (n, h, w, 3).
  Variables extract_feat(const Variable& img) const;

 private:
  Backbone* backbone_;
  Neck* neck_ = nullptr;
  DenseHead* bbox_head_;
  PretrainedBackbone pretrained_;
};

}  // namespace osprey
