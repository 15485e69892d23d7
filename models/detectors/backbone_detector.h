#pragma once

#include <vector>

#include "core/detection/detector.h"
#include "models/backbones/backbone.h"
#include "models/necks/neck.h"
#include "models/pretrained.h"

namespace osprey {

// What every detector here begins with: img -> backbone -> neck. A derived type adds its heads and then
// calls assign_paths().
//
// Keys: backbone, neck (optional); pretrained or backbone.init_cfg (of the backbone), init_cfg {type:
// Pretrained, checkpoint} (of the whole detector: what matches is loaded, the rest is listed and stays as
// drawn).
class BackboneDetector : public Detector {
 public:
  // Also fills the backbone, or everything, from a checkpoint, if the config names one.
  void init_weights(uint64_t seed) override;
  // The pyramid of a batch of images (n, h, w, 3).
  Variables extract_feat(const Variable& img) const;

 protected:
  explicit BackboneDetector(const ConfigNode& cfg);

  // Fills a module from the backbone's checkpoint, or from `part` of it ("layer4"), and warns of what stays
  // frozen as it was drawn.
  void start_from_pretrained(Module& module, const std::string& part = "") const;

  // Pyramids and meta data per augmentation of the same images.
  struct AugmentedFeats {
    std::vector<Variables> feats;
    std::vector<std::vector<ImgMeta>> img_metas;
  };
  AugmentedFeats extract_feats(const std::vector<Batch>& batches) const;

 private:
  Backbone* backbone_;
  Neck* neck_ = nullptr;
  PretrainedBackbone pretrained_;
  ConfigNode checkpoint_;  // of the whole detector; null when there is none
};

}  // namespace osprey
