#pragma once

#include <limits>
#include <vector>

#include "core/config/config.h"
#include "core/tensor/tensor.h"

// Non-maximum suppression as mmcv 1.7 and mmdetection 2.11 compute it. Boxes are f32 (n, 4) xyxy in pixels.
// Results are where the boxes are. On CUDA, greedy suppression runs there up to kMaxDeviceNmsBoxes boxes;
// beyond, and for soft_nms, whose every pick depends on the last, the boxes are fetched. NaN: a box with a
// NaN coordinate overlaps nothing (nor does a pair of zero area, 0 / 0); a NaN score ranks below every other,
// and soft_nms drops it.
namespace osprey {

inline constexpr int64_t kMaxDeviceNmsBoxes = 32768;  // their pairs take 128 MiB, a bit each

// Greedy non-maximum suppression. scores f32 (n). Returns i64 indices of the kept boxes by descending score
// (ties keep input order), at most max_num when that is > 0. A box goes when its IoU with a kept one is >
// iou_threshold. `offset` is added to widths and heights: 0, or 1 for boxes with inclusive corners.
Tensor nms(const Tensor& boxes, const Tensor& scores, double iou_threshold, int64_t max_num = -1,
           int64_t offset = 0);

enum class SoftNmsMethod { kNaive, kLinear, kGaussian };
struct SoftNmsResult {
  Tensor dets;  // f32 (k, 5) with decayed scores, in the order in which they were picked
  Tensor inds;  // i64 (k)
};
// Bodla et al. 2017. Each step picks the first best box of the rest, swaps it to the front, and multiplies
// the scores of the others by 0 (naive) or 1 - IoU (linear) where IoU >= iou_threshold, or by exp(-IoU^2 /
// sigma) (gaussian). A box that falls below min_score is overwritten by the last one. The first pick stays
// whatever its score.
SoftNmsResult soft_nms(const Tensor& boxes, const Tensor& scores, double iou_threshold, double sigma,
                       double min_score, SoftNmsMethod method, int64_t offset = 0);

// The `nms: {type: nms, iou_threshold: 0.7, ...}` block of a test_cfg, read once.
struct NmsConfig {
  enum class Type { kNone, kNms, kSoftNms } type = Type::kNms;  // kNone (`nms: null`) only sorts
  double iou_threshold = 0.5;       // `iou_thr` is understood too; soft_nms may leave it out (0.3)
  int64_t split_threshold = 10000;  // split_thr: from so many boxes on class by class
  int64_t max_num = -1;             // at most, when > 0
  int64_t offset = 0;
  bool class_agnostic = false;
  double score_threshold = -std::numeric_limits<double>::infinity();  // nms: keeps scores > this
  double sigma = 0.5, min_score = 1e-3;                               // soft_nms
  SoftNmsMethod method = SoftNmsMethod::kLinear;

  static NmsConfig from(const ConfigNode& cfg);
};

struct NmsResult {
  Tensor dets;  // f32 (k, 5): x1, y1, x2, y2, score, by descending score
  Tensor keep;  // i64 (k): rows of the input
};
// NMS within each class: boxes are shifted by class * (max coordinate + 1). idxs i64 (n).
NmsResult batched_nms(const Tensor& boxes, const Tensor& scores, const Tensor& idxs, const NmsConfig& cfg);

// The same before anybody knows how many are left: on CUDA the host has not waited.
struct PendingNms {
  Tensor dets, keep;  // as in NmsResult in the first rows, zeros behind them
  Tensor count;       // i64 (1): how many rows those are
};
PendingNms start_batched_nms(const Tensor& boxes, const Tensor& scores, const Tensor& idxs,
                             const NmsConfig& cfg);
// Cuts them to size; one wait for all, which are on one device.
std::vector<NmsResult> finish_nms(const std::vector<PendingNms>& pending);

struct MulticlassNmsResult {
  Tensor dets;    // f32 (k, 5), also for k = 0
  Tensor labels;  // i64 (k)
  Tensor inds;    // i64 (k): index into the thresholded candidates (box-major), as the reference returns
};
// boxes f32 (n, 4) or (n, classes * 4); scores f32 (n, classes + 1), background last. Keeps score >
// score_thr, at most max_num (-1: all) after NMS. score_factors f32 (n) or undefined multiply the scores
// after the threshold (centerness).
MulticlassNmsResult multiclass_nms(const Tensor& boxes, const Tensor& scores, double score_thr,
                                   const NmsConfig& cfg, int64_t max_num, const Tensor& score_factors = {});

}  // namespace osprey
