#include "models/detectors/single_stage_detector.h"

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

SingleStageDetector::SingleStageDetector(const ConfigNode& cfg) : BackboneDetector(cfg) {
  bbox_head_ = add_child("bbox_head", build<DenseHead>(head_cfg(cfg)));
  if (bbox_head_->proposes_regions()) {
    cfg["bbox_head"]["type"].fail(
        "proposes regions only; a single-stage detector needs a head that finds "
        "objects, such as RetinaHead");
  }
  assign_paths();
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
  const auto [feats, img_metas] = extract_feats(batches);
  return bbox_head_->aug_test(feats, img_metas, rescale);
}

std::vector<std::pair<std::string, int64_t>> SingleStageDetector::num_classes_by_head() const {
  return bbox_head_->num_classes_by_head();
}

OSPREY_REGISTER(Detector, SingleStageDetector);

}  // namespace osprey
