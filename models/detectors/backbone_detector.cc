#include "models/detectors/backbone_detector.h"

#include "core/base/logging.h"
#include "core/runner/checkpoint.h"
#include "core/runner/load_weights.h"

namespace osprey {

BackboneDetector::BackboneDetector(const ConfigNode& cfg)
    : backbone_(add_child("backbone", build<Backbone>(cfg["backbone"]))), pretrained_(cfg) {
  const ConfigNode init_cfg = cfg.find("init_cfg");
  if (!init_cfg.is_null()) {
    if (pretrained_.given())
      init_cfg.fail("the backbone has a checkpoint of its own too; give one of the two");
    init_cfg.choice("type", "", {"Pretrained"});
    checkpoint_ = init_cfg["checkpoint"];
  }
  if (!cfg.find("neck").is_null()) neck_ = add_child("neck", build<Neck>(cfg["neck"]));
}

void BackboneDetector::init_weights(uint64_t seed) {
  Detector::init_weights(seed);
  start_from_pretrained(*backbone_);
  if (checkpoint_.is_null()) return;
  const std::string path = resolve_checkpoint(checkpoint_);
  load_weights(*this, read_weights(path), path);
}

void BackboneDetector::start_from_pretrained(Module& module, const std::string& part) const {
  pretrained_.load_into(module, part);
  const std::string lint = pretrained_.given() || !checkpoint_.is_null() ? "" : lint_frozen_at_random(module);
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
