#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/detection/batch.h"
#include "core/detection/detector.h"
#include "core/nn/module.h"
#include "core/registry/registry.h"

namespace osprey {

// A head that predicts at every cell of every level of the pyramid. It either proposes regions to a RoI head
// (the rpn_head of two-stage detectors) or finds the objects itself (the bbox_head of single-stage ones).
// Built with its own keys and train_cfg, test_cfg, and proposal_cfg (what get_bboxes uses while training).
// Registered in models/dense_heads.
class DenseHead : public Module {
 public:
  struct TrainResult {
    LossDict losses;
    Tensors proposals;  // per image f32 (n, 5): x1, y1, x2, y2, score, by descending score; off the tape.
                        // Empty unless proposes_regions().
  };
  // feats: the neck's maps, finest first.
  virtual TrainResult forward_train(const Variables& feats, const Batch& batch) const = 0;
  virtual bool proposes_regions() const = 0;

  // --- A head that proposes regions.
  // Proposals as above, in pixels of the network's input.
  virtual Tensors simple_test_rpn(const Variables& feats, const std::vector<ImgMeta>& img_metas) const;
  // The same from several augmentations of the images (feats[a], img_metas[a]), in pixels of the files.
  virtual Tensors aug_test_rpn(const std::vector<Variables>& feats,
                               const std::vector<std::vector<ImgMeta>>& img_metas) const;

  // --- A head that finds objects.
  // One result per image, in pixels of the file when `rescale`, else of the network's input.
  virtual std::vector<DetectionResult> simple_test(const Variables& feats,
                                                   const std::vector<ImgMeta>& img_metas, bool rescale) const;
  virtual std::vector<DetectionResult> aug_test(const std::vector<Variables>& feats,
                                                const std::vector<std::vector<ImgMeta>>& img_metas,
                                                bool rescale) const;
  // (module path, classes it was built for).
  virtual std::vector<std::pair<std::string, int64_t>> num_classes_by_head() const { return {}; }
};

OSPREY_DECLARE_REGISTRY(DenseHead);

}  // namespace osprey
