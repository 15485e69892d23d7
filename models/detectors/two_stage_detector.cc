#include "models/detectors/two_stage_detector.h"

#include "models/roi_heads/shared_heads/shared_head.h"

namespace osprey {
namespace {

// A head's config with the parts of train_cfg and test_cfg that belong to it.
ConfigNode rpn_cfg(const ConfigNode& cfg) {
  const ConfigNode train_cfg = cfg.find("train_cfg");
  const ConfigNode test_cfg = cfg.find("test_cfg");
  ConfigNode head = cfg["rpn_head"];
  if (!train_cfg.is_null()) {
    head = head.with("train_cfg", train_cfg["rpn"]);
    if (!train_cfg.find("rpn_proposal").is_null())
      head = head.with("proposal_cfg", train_cfg["rpn_proposal"]);
  }
  return test_cfg.is_null() ? head : head.with("test_cfg", test_cfg["rpn"]);
}

ConfigNode roi_cfg(const ConfigNode& cfg) {
  const ConfigNode train_cfg = cfg.find("train_cfg");
  const ConfigNode test_cfg = cfg.find("test_cfg");
  ConfigNode head = cfg["roi_head"];
  if (!train_cfg.is_null()) head = head.with("train_cfg", train_cfg["rcnn"]);
  return test_cfg.is_null() ? head : head.with("test_cfg", test_cfg["rcnn"]);
}

}  // namespace

TwoStageDetector::TwoStageDetector(const ConfigNode& cfg) : BackboneDetector(cfg) {
  rpn_head_ = add_child("rpn_head", build<DenseHead>(rpn_cfg(cfg)));
  if (!rpn_head_->proposes_regions()) {
    cfg["rpn_head"]["type"].fail(
        "finds objects, it does not propose regions; rpn_head must be one that does, "
        "such as RPNHead");
  }
  roi_head_ = add_child("roi_head", build<RoIHead>(roi_cfg(cfg)));
  assign_paths();
}

void TwoStageDetector::init_weights(uint64_t seed) {
  BackboneDetector::init_weights(seed);
  SharedHead* shared_head = roi_head_->shared_head();
  const auto [name, part] = shared_head ? shared_head->pretrained_part() : std::pair<std::string, Module*>();
  if (part) start_from_pretrained(*part, name);
}

LossDict TwoStageDetector::forward_train(const Batch& batch) {
  const Variables feats = extract_feat(batch.img);
  DenseHead::TrainResult rpn = rpn_head_->forward_train(feats, batch);
  rpn.losses.merge("", roi_head_->forward_train(feats, rpn.proposals, batch));
  return rpn.losses;
}

Tensors TwoStageDetector::propose(const Batch& batch) const {
  const NoGradGuard no_grad;
  return rpn_head_->simple_test_rpn(extract_feat(batch.img), batch.img_metas);
}

std::vector<DetectionResult> TwoStageDetector::simple_test(const Batch& batch, bool rescale) {
  const NoGradGuard no_grad;
  const Variables feats = extract_feat(batch.img);
  const Tensors proposals = rpn_head_->simple_test_rpn(feats, batch.img_metas);
  return roi_head_->simple_test(feats, proposals, batch.img_metas, rescale);
}

std::vector<DetectionResult> TwoStageDetector::aug_test(const std::vector<Batch>& batches, bool rescale) {
  const NoGradGuard no_grad;
  const auto [feats, img_metas] = extract_feats(batches);
  const Tensors proposals = rpn_head_->aug_test_rpn(feats, img_metas);
  return roi_head_->aug_test(feats, proposals, img_metas, rescale);
}

std::vector<std::pair<std::string, int64_t>> TwoStageDetector::num_classes_by_head() const {
  return roi_head_->num_classes_by_head();
}

OSPREY_REGISTER(Detector, TwoStageDetector);

}  // namespace osprey
