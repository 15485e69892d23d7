#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/detection/detector.h"
#include "core/nn/module.h"
#include "core/registry/registry.h"

namespace osprey {

class SharedHead;

// The second stage of a detector: looks at regions. Built with its own keys and train_cfg, test_cfg.
// Registered in models/roi_heads.
class RoIHead : public Module {
 public:
  // feats: the neck's maps, finest first. proposals: per image f32 (n, 4) or (n, 5), in pixels of the
  // network's input.
  virtual LossDict forward_train(const Variables& feats, const Tensors& proposals,
                                 const Batch& batch) const = 0;
  // One result per image, grouped by class, best first within a class. Boxes in pixels of the file when
  // `rescale`, else of the network's input.
  virtual std::vector<DetectionResult> simple_test(const Variables& feats, const Tensors& proposals,
                                                   const std::vector<ImgMeta>& img_metas,
                                                   bool rescale) const = 0;
  // The same from several augmentations of the images: feats[a], img_metas[a]. proposals are in pixels of the
  // files.
  virtual std::vector<DetectionResult> aug_test(const std::vector<Variables>& feats, const Tensors& proposals,
                                                const std::vector<std::vector<ImgMeta>>& img_metas,
                                                bool rescale) const = 0;
  // Null in all but C4 detectors.
  virtual SharedHead* shared_head() const { return nullptr; }
  // (module path, classes it was built for).
  virtual std::vector<std::pair<std::string, int64_t>> num_classes_by_head() const = 0;
};

OSPREY_DECLARE_REGISTRY(RoIHead);

}  // namespace osprey
