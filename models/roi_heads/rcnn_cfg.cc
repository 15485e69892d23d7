#include "models/roi_heads/rcnn_cfg.h"

#include "core/bbox/device_samples.h"
#include "core/bbox/transforms.h"

namespace osprey {

RCNNTrainCfg::RCNNTrainCfg(const ConfigNode& cfg)
    : assigner(build<BBoxAssigner>(cfg["assigner"])),
      sampler(build<BBoxSampler>(cfg["sampler"])),
      pos_weight(cfg.get("pos_weight", -1.0f, at_least(-1))) {
  if (pos_weight <= 0) pos_weight = 1;
  const ConfigNode size = cfg.find("mask_size");
  if (size.is_list()) {
    const auto pair = size.as<std::vector<int64_t>>(positive());
    if (pair.size() != 2) size.fail("mask_size must be one number or [h, w]");
    mask_size = {pair[0], pair[1]};
  } else if (!size.is_null()) {
    mask_size.fill(size.as<int64_t>(positive()));
  }
  cfg.get("debug", false);  // the reference reads it nowhere
}

RCNNTestCfg::RCNNTestCfg(const ConfigNode& cfg)
    : score_thr(cfg.get<double>("score_thr", between(0, 1))),
      nms(NmsConfig::from(cfg["nms"])),
      max_per_img(cfg.get<int64_t>("max_per_img", at_least(-1))),
      mask_thr_binary(cfg.get("mask_thr_binary", 0.5, between(0, 1))) {}

SamplingResults assign_and_sample(const RCNNTrainCfg& cfg, const Tensors& proposals, const Batch& batch,
                                  SamplerStream stream, const HardnessByImage& hardness) {
  std::vector<AssignResult> assigned;
  for (int64_t i = 0; i < batch.size(); ++i) {
    const Tensor ignore = batch.gt_bboxes_ignore.empty() ? Tensor() : batch.gt_bboxes_ignore[i];
    assigned.push_back(cfg.assigner->assign(proposals[i], batch.gt_bboxes[i], ignore, batch.gt_labels[i]));
  }
  find_assigned_rows(assigned);
  SamplingResults results;
  for (int64_t i = 0; i < batch.size(); ++i) {
    // Stream 0 is the dense head's.
    CounterRng rng(batch.rng_seed, 1 + 2 * stream.stage + static_cast<size_t>(stream.draw), i);
    results.push_back(cfg.sampler->sample_by_hardness(std::move(assigned[i]), proposals[i],
                                                      batch.gt_bboxes[i], batch.gt_labels[i], rng,
                                                      hardness ? hardness(i) : HardnessOf()));
  }
  return results;
}

Tensor rois_of_image(const Tensor& bboxes, int64_t image) {
  Tensors by_image(static_cast<size_t>(image), Tensor({0, 4}, DType::kF32, bboxes.device()));
  by_image.push_back(bboxes);
  return bbox2roi(by_image);
}

Tensor sampled_rois(const SamplingResults& sampled) {
  Tensors bboxes;
  for (const SamplingResult& image : sampled) bboxes.push_back(image.bboxes());
  return bbox2roi(bboxes);
}

Tensor positive_rois(const SamplingResults& sampled) {
  Tensors bboxes;
  for (const SamplingResult& image : sampled) bboxes.push_back(image.pos_bboxes);
  return bbox2roi(bboxes);
}

Tensor positive_labels(const SamplingResults& sampled) {
  Tensors labels;
  for (const SamplingResult& image : sampled) labels.push_back(image.pos_gt_labels);
  return concat(labels);
}

}  // namespace osprey
