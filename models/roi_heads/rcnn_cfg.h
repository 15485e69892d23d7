#pragma once

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "core/bbox/assigner.h"
#include "core/bbox/sampler.h"
#include "core/config/config.h"
#include "core/detection/batch.h"
#include "core/ops/nms.h"

namespace osprey {

// train_cfg.rcnn, or one stage of it: which RoIs train a head, and how.
struct RCNNTrainCfg {
  explicit RCNNTrainCfg(const ConfigNode& cfg);  // assigner, sampler, pos_weight, mask_size

  std::unique_ptr<BBoxAssigner> assigner;
  std::unique_ptr<BBoxSampler> sampler;
  float pos_weight;                          // of positives in loss_cls
  std::array<int64_t, 2> mask_size{28, 28};  // h, w of mask targets
};

// test_cfg.rcnn.
struct RCNNTestCfg {
  explicit RCNNTestCfg(const ConfigNode& cfg);

  double score_thr;
  NmsConfig nms;
  int64_t max_per_img;
  double mask_thr_binary;
};

using SamplingResults = std::vector<SamplingResult>;  // one per image

// Names the random numbers of one draw of a sampler. An interleaved cascade draws twice per stage.
struct SamplerStream {
  size_t stage = 0;
  int draw = 0;
};

// How a head judges boxes of each image; for samplers that look for hard examples.
using HardnessByImage = std::function<HardnessOf(int64_t image)>;

// Assigns and samples proposals (f32 (n, 4) per image) against the ground truth of the batch.
SamplingResults assign_and_sample(const RCNNTrainCfg& cfg, const Tensors& proposals, const Batch& batch,
                                  SamplerStream stream, const HardnessByImage& hardness = {});

// f32 (n, 5) RoIs of boxes f32 (n, 4) that all belong to one image of the batch.
Tensor rois_of_image(const Tensor& bboxes, int64_t image);

// f32 (k, 5) RoIs of all samples, positives first within an image, or of the positives alone.
Tensor sampled_rois(const SamplingResults& sampled);
Tensor positive_rois(const SamplingResults& sampled);
// i64, the same rows as positive_rois.
Tensor positive_labels(const SamplingResults& sampled);

}  // namespace osprey
