#pragma once

#include <cstdint>
#include <limits>

#include "core/bbox/overlap_kernel.h"
#include "core/tensor/device_kernel.h"
#include "core/tensor/tensor.h"

// MaxIoUAssigner on a device. First every ground truth's best overlap, tile by tile; then each box walks the
// ground truths once. The overlaps are computed twice and never stored: equal inputs give equal bits.
namespace osprey {

struct MaxIoURules {
  float pos_iou_thr, neg_iou_low, neg_iou_high, min_pos_iou;
  float ignore_iof_thr;
  bool gt_max_assign_all, ignore_wrt_candidates, match_low_quality;
};

struct MaxIoUArgs {
  MaxIoURules rules;
  Tensor boxes, gts;                     // f32 (n, 4), (k, 4)
  Tensor regions;                        // f32 (m, 4) to ignore, or undefined
  Tensor gt_labels;                      // i64 (k), or undefined
  Tensor gt_inds, max_overlaps, labels;  // results; labels undefined without gt_labels
};
// CUDA only. n, k, m > 0.
extern DeviceKernel<void(MaxIoUArgs& args)> max_iou_assign_kernel;

constexpr float kIoUEps = 1e-6f;
constexpr float kNoOverlap = -std::numeric_limits<float>::infinity();  // below all; also "all were NaN"

// The overlap that the rules see: -1 with everything for an ignored box.
struct AssignedOverlap {
  const float *gts, *boxes;
  const uint8_t* ignored;  // (n) or null
  OSPREY_HD float operator()(int64_t gt, int64_t box) const {
    if (ignored != nullptr && ignored[box] != 0) return -1;
    return box_overlap<OverlapMode::kIoU>(BoxEdges::of(gts + 4 * gt), BoxEdges::of(boxes + 4 * box), kIoUEps);
  }
};

// A ground truth's best overlap and the first box that reaches it.
struct GtBest {
  float overlap;
  int64_t box;
};

// Index gt + k * tile: neighbouring threads look at the same box.
struct TileBest {
  AssignedOverlap overlap;
  int64_t n, k, tile_size;
  GtBest* best;  // (tiles, k)
  OSPREY_HD void operator()(int64_t index) const {
    const int64_t tile = index / k, gt = index - tile * k, begin = tile * tile_size;
    const int64_t end = begin + tile_size < n ? begin + tile_size : n;
    GtBest found{kNoOverlap, -1};
    for (int64_t box = begin; box < end; ++box) {
      const float value = overlap(gt, box);
      if (value > found.overlap) found = {value, box};
    }
    best[index] = found;
  }
};

struct FoldBest {
  const GtBest* tiles_best;
  int64_t tiles, k;
  GtBest* best;  // (k)
  OSPREY_HD void operator()(int64_t gt) const {
    GtBest found{kNoOverlap, -1};
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const GtBest& candidate = tiles_best[tile * k + gt];
      if (candidate.overlap > found.overlap) found = candidate;
    }
    best[gt] = found;
  }
};

struct MarkIgnored {
  const float *boxes, *regions;
  int64_t m;
  float threshold;
  bool wrt_candidates;
  uint8_t* ignored;
  OSPREY_HD void operator()(int64_t i) const {
    const BoxEdges box = BoxEdges::of(boxes + 4 * i);
    ignored[i] = 0;
    for (int64_t r = 0; r < m; ++r) {
      const BoxEdges region = BoxEdges::of(regions + 4 * r);
      const float share = wrt_candidates ? box_overlap<OverlapMode::kIoF>(box, region, kIoUEps)
                                         : box_overlap<OverlapMode::kIoF>(region, box, kIoUEps);
      if (share > threshold) ignored[i] = 1;
    }
  }
};

struct AssignBox {
  MaxIoURules rules;
  AssignedOverlap overlap;
  int64_t k;
  const GtBest* gt_best;     // (k)
  const int64_t* gt_labels;  // (k) or null
  int64_t* gt_inds;
  float* max_overlaps;
  int64_t* labels;

  OSPREY_HD bool takes_box(int64_t gt, int64_t box, float value) const {
    if (!rules.match_low_quality || !(gt_best[gt].overlap >= rules.min_pos_iou)) return false;
    return rules.gt_max_assign_all ? value == gt_best[gt].overlap : box == gt_best[gt].box;
  }
  OSPREY_HD void operator()(int64_t i) const {
    float best = kNoOverlap;
    int64_t argmax = 0, taken_by = -1;
    for (int64_t gt = 0; gt < k; ++gt) {
      const float value = overlap(gt, i);
      if (value > best) {
        best = value;
        argmax = gt;
      }
      if (takes_box(gt, i, value)) taken_by = gt;
    }
    int64_t assigned = -1;
    if (best >= rules.neg_iou_low && best < rules.neg_iou_high) assigned = 0;
    if (best >= rules.pos_iou_thr) assigned = argmax + 1;
    if (taken_by >= 0) assigned = taken_by + 1;
    gt_inds[i] = assigned;
    max_overlaps[i] = best == kNoOverlap ? std::numeric_limits<float>::quiet_NaN() : best;
    if (labels != nullptr) labels[i] = assigned > 0 ? gt_labels[assigned - 1] : -1;
  }
};

}  // namespace osprey
