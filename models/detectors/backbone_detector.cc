#include "models/detectors/backbone_detector.h"

#include "core/base/logging.h"

namespace osprey {

BackboneDetector::BackboneDetector(const ConfigNode& cfg)
    : backbone_(add_child("backbone", build<Backbone>(cfg["backbone"]))), pretrained_(cfg) {
  if (!cfg.find("neck").is_null()) neck_ = add_child("neck", build<Neck>(cfg["neck"]));
}

void BackboneDetector::init_weights(uint64_t seed) {
  Detector::init_weights(seed);
  start_from_pretrained(*backbone_);
}

void BackboneDetector::start_from_pretrained(Module& module, const std::string& part) const {
  pretrained_.load_into(module, part);
  const std::string lint = pretrained_.given() ? "" : lint_frozen_at_random(module);
  if (!lint.empty()) log_warning(module.path() + ": " + lint);
}

Variables BackboneDetector::extract_feat(const Variable& img) const {
  const Variables feats = backbone_->forward(img);
  return neck_ ? neck_->forward(feats) : feats;
}

BackboneDetector::AugmentedFeats BackboneDetector::extract_feats(const std::vector<Batch>& batches) const {
  AugmentedFeats augmented;
  for (const Batch& batch : batches) {
    augmented.feats.push_back(extract_feat(batch.img));
    augmented.img_metas.push_back(batch.img_metas);
  }
  return augmented;
}

}  // namespace osprey
