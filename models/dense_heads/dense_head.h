#pragma once

#include <vector>

#include "core/detection/batch.h"
#include "core/detection/detector.h"
#include "core/nn/module.h"
#include "core/registry/registry.h"

namespace osprey {

// A head that predicts at every cell of every level of the pyramid, and proposes regions to a RoI head.
// Built with its own keys and train_cfg, test_cfg, and proposal_cfg (what get_bboxes uses while training).
// Registered in models/dense_heads.
class DenseHead : public Module {
 public:
  struct TrainResult {
    LossDict losses;
    Tensors proposals;  // per image f32 (n, 5): x1, y1, x2, y2, score, by descending score; off the tape
  };
  // feats: the neck's maps, finest first.
  virtual TrainResult forward_train(const Variables& feats, const Batch& batch) const = 0;
  // Proposals as above, in pixels of the network's input.
  virtual Tensors simple_test_rpn(const Variables& feats, const std::vector<ImgMeta>& img_metas) const = 0;
  // The same from several augmentations of the images (feats[a], img_metas[a]), in pixels of the files.
  virtual Tensors aug_test_rpn(const std::vector<Variables>& feats,
                               const std::vector<std::vector<ImgMeta>>& img_metas) const = 0;
};

OSPREY_DECLARE_REGISTRY(DenseHead);

}  // namespace osprey
