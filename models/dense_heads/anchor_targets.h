#pragma once

#include <memory>
#include <vector>

#include "core/anchor/anchor_generator.h"
#include "core/bbox/assigner.h"
#include "core/bbox/bbox_coder.h"
#include "core/bbox/sampler.h"
#include "core/detection/batch.h"

namespace osprey {

// What every anchor should have predicted, per level, for all images together. On the anchors' device.
struct AnchorTargets {
  Tensors labels;         // i64 (n * h * w * A); num_classes = background
  Tensors label_weights;  // f32 (n * h * w * A); 0 = takes no part
  Tensors bbox_targets;   // f32 (n * h * w * A, 4), encoded, or boxes with reg_decoded_bbox
  Tensors bbox_weights;   // f32 (n * h * w * A, 4), 1 for positives
  int64_t num_total_pos = 0, num_total_neg = 0;  // at least 1 per image, as the reference counts
};

// Assigns ground truth to the anchors inside the image and samples among them (Ren et al., "Faster R-CNN",
// section 3.1.2).
class AnchorTargetMaker {
 public:
  // train_cfg: assigner, sampler (everything takes part when it is missing or `sampling` is off),
  // allowed_border, pos_weight.
  AnchorTargetMaker(const ConfigNode& train_cfg, int64_t num_classes, bool sampling, bool reg_decoded_bbox);

  // anchors: per level f32 (h * w * A, 4). With `class_agnostic` every object has label 0 (RPN).
  AnchorTargets make(const Tensors& anchors, const AnchorGeneratorBase& generator,
                     const std::vector<MapSize>& featmap_sizes, const BBoxCoder& coder, const Batch& batch,
                     bool class_agnostic) const;

 private:
  struct Flat;
  AssignResult assign(const Tensor& anchors, const Tensor& inside, const Batch& batch, int64_t image) const;
  void fill_in(const SamplingResult& sampled, const BBoxCoder& coder, const Batch& batch, bool class_agnostic,
               Flat& targets) const;
  void require_class(int64_t label) const;

  std::unique_ptr<BBoxAssigner> assigner_;
  std::unique_ptr<BBoxSampler> sampler_;
  int64_t num_classes_;
  bool sampling_, reg_decoded_bbox_;
  int64_t allowed_border_;
  float pos_weight_;
};

}  // namespace osprey
