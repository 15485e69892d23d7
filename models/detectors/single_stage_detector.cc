#include "models/detectors/single_stage_detector.h"

#include "core/base/logging.h"

namespace osprey {
namespace {

ConfigNode head_cfg(const ConfigNode& cfg) {
  ConfigNode head = cfg["bbox_head"];
  for (const char* key : {"train_cfg", "test_cfg"}) {
    const ConfigNode part = cfg.find(key);
    if (!part.is_null()) head = head.with(key, part);
  }
  return head;
}

}  // namespace

SingleStageDetector::SingleStageDetector(const ConfigNode& cfg)
    : backbone_(add_child("backbone", build<Backbone>(cfg["backbone"]))), pretrained_(cfg) {
  if (!cfg.find("neck").is_null()) neck_ = add_child("neck", build<Neck>(cfg["neck"]));
  bbox_head_ = add_child("bbox_head", build<DenseHead>(head_cfg(cfg)));
  if (bbox_head_->proposes_regions()) {
    cfg["bbox_head"]["type"].fail(
        "proposes regions only; a single-stage detector needs a head that finds "
        "objects, such as RetinaHead");
  }
  assign_paths();
}

void SingleStageDetector::init_weights(uint64_t seed) {
  Detector::init_weights(seed);
  pretrained_.load_into(*backbone_);
  const std::string lint = pretrained_.given() ? "" : lint_frozen_at_random(*backbone_);
  if (!lint.empty()) log_warning("backbone: " + lint);
}

Variables SingleStageDetector::extract_feat(const Variable& img) const {
  const Variables feats = backbone_->forward(img);
  return neck_ ? neck_->forward(feats) : feats;
}

LossDict SingleStageDetector::forward_train(const Batch& batch) {
  return bbox_head_->forward_train(extract_feat(batch.img), batch).losses;
}

std::vector<DetectionResult> SingleStageDetector::simple_test(const Batch& batch, bool rescale) {
  const NoGradGuard no_grad;
  return bbox_head_->simple_test(extract_feat(batch.img), batch.img_metas, rescale);
}

std::vector<DetectionResult> SingleStageDetector::aug_test(const std::vector<Batch>& batches, bool rescale) {
  const NoGradGuard no_grad;
  std::vector<Variables> feats;
  std::vector<std::vector<ImgMeta>> img_metas;
  for (const Batch& augmented : batches) {
    feats.push_back(extract_feat(augmented.img));
    img_metas.push_back(augmented.img_metas);
  }
  return bbox_head_->aug_test(feats, img_metas, rescale);
}

std::vector<std::pair<std::string, int64_t>> SingleStageDetector::num_classes_by_head() const {
  return bbox_head_->num_classes_by_head();
}

OSPREY_REGISTER(Detector, SingleStageDetector);

}  // namespace osprey
