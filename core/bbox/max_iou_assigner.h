#pragma once

#include "core/bbox/assigner.h"

namespace osprey {

struct BoxColumns;

// Ren et al., "Faster R-CNN", section 3.1.2, as mmdetection 2.11 has it:
//   1. a box is background when its best IoU lies in [neg_iou_thr[0], neg_iou_thr[1]),
//   2. it belongs to its best ground truth when that IoU >= pos_iou_thr (the first of equals),
//   3. with match_low_quality each ground truth, in order, takes the boxes that reach its own best IoU when
//      that is >= min_pos_iou, also from earlier ground truths. With min_pos_iou 0 a ground truth that
//      overlaps nothing thus takes every box.
// All others are ignored (-1). Boxes whose IoF with a gt_bboxes_ignore exceeds ignore_iof_thr are ignored
// too, with an overlap of -1. A NaN box is ignored with overlap NaN; a NaN ground truth matches nothing.
//
// Memory: the (k, n) overlaps never exist at once; the work goes tile by tile (k * n / 1024 floats remain).
class MaxIoUAssigner final : public BBoxAssigner {
 public:
  // pos_iou_thr, neg_iou_thr (number t meaning [0, t), or a pair), min_pos_iou (0), gt_max_assign_all (true),
  // ignore_iof_thr (-1: off), ignore_wrt_candidates (true), match_low_quality (true), gpu_assign_thr (-1; the
  // tiles make it needless, so it is accepted without effect), iou_calculator ({type: BboxOverlaps2D}).
  explicit MaxIoUAssigner(const ConfigNode& cfg);
  AssignResult assign(const Tensor& bboxes, const Tensor& gt_bboxes, const Tensor& gt_bboxes_ignore,
                      const Tensor& gt_labels) const override;

 private:
  struct Overlaps;
  AssignResult assign_on_device(const Tensor& bboxes, const Tensor& gt_bboxes, const Tensor& gt_bboxes_ignore,
                                const Tensor& gt_labels) const;
  std::vector<uint8_t> find_ignored(const BoxColumns& boxes, const Tensor& gt_bboxes_ignore) const;
  void assign_by_threshold(const Overlaps& overlaps, AssignResult& result) const;
  void assign_low_quality(const Overlaps& overlaps, AssignResult& result) const;

  float pos_iou_thr_, neg_iou_low_ = 0, neg_iou_high_ = 0, min_pos_iou_;
  float ignore_iof_thr_;
  bool gt_max_assign_all_, ignore_wrt_candidates_, match_low_quality_;
};

}  // namespace osprey
