#pragma once

#include "core/config/config.h"
#include "core/tensor/tensor.h"

namespace osprey {

// Greedy non-maximum suppression. boxes f32 (n, 4) xyxy, scores f32 (n). Returns i64 indices of the kept
// boxes by descending score (ties keep input order). A box goes when its IoU with a kept one is >
// iou_threshold; no +1.
Tensor nms(const Tensor& boxes, const Tensor& scores, double iou_threshold);

enum class SoftNmsMethod { kNaive, kLinear, kGaussian };
struct SoftNmsResult {
  Tensor dets;  // f32 (k, 5) with decayed scores
  Tensor inds;  // i64 (k)
};
// Bodla et al. 2017, with the reference's in-place order (see the golden README).
SoftNmsResult soft_nms(const Tensor& boxes, const Tensor& scores, double iou_threshold, double sigma,
                       double min_score, SoftNmsMethod method);

// The `nms: {type: nms, iou_threshold: 0.7, ...}` block of a test_cfg, read once.
struct NmsConfig {
  enum class Type { kNms, kSoftNms } type = Type::kNms;
  double iou_threshold = 0.5;
  int64_t split_threshold = 10000;  // from here on class by class
  int64_t max_num = -1;
  bool class_agnostic = false;
  double sigma = 0.5, min_score = 1e-3;
  SoftNmsMethod method = SoftNmsMethod::kLinear;

  static NmsConfig from(const ConfigNode& cfg);
};

struct NmsResult {
  Tensor dets;  // f32 (k, 5): x1, y1, x2, y2, score, by descending score
  Tensor keep;  // i64 (k): rows of the input
};
// NMS within each class: boxes are shifted by class * (max coordinate + 1). idxs i64 (n).
NmsResult batched_nms(const Tensor& boxes, const Tensor& scores, const Tensor& idxs, const NmsConfig& cfg);

struct MulticlassNmsResult {
  Tensor dets;    // f32 (k, 5)
  Tensor labels;  // i64 (k)
  Tensor inds;    // i64 (k): index into the thresholded candidates, as the reference returns
};
// boxes f32 (n, 4) or (n, classes * 4); scores f32 (n, classes + 1), background last. Keeps score >
// score_thr, at most max_num (-1: all) after NMS.
MulticlassNmsResult multiclass_nms(const Tensor& boxes, const Tensor& scores, double score_thr,
                                   const NmsConfig& cfg, int64_t max_num);

}  // namespace osprey
