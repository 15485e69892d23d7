#include "core/ops/nms.h"

#include <algorithm>
#include <vector>

#include "core/ops/nms_boxes.h"
#include "core/ops/row_order.h"

namespace osprey {

namespace {

constexpr size_t kBlock = 64;  // kept boxes that are compared before looking whether one of them suppresses

// The boxes kept so far, as one array per coordinate.
struct KeptBoxes {
  std::vector<float> x1, y1, x2, y2, area;

  void add(const NmsBox& box) {
    x1.push_back(box.x1);
    y1.push_back(box.y1);
    x2.push_back(box.x2);
    y2.push_back(box.y2);
    area.push_back(box.area);
  }

  // Most suppressors score high and come early: the search stops at the first block with one.
  bool suppress(const NmsBox& box, float threshold, float offset) const {
    for (size_t begin = 0; begin < x1.size(); begin += kBlock) {
      const size_t end = std::min(begin + kBlock, x1.size());
      int hits = 0;
#pragma omp simd reduction(+ : hits)
      for (size_t i = begin; i < end; ++i) {
        hits += nms_iou(box, {x1[i], y1[i], x2[i], y2[i], area[i]}, offset) > threshold ? 1 : 0;
      }
      if (hits > 0) return true;
    }
    return false;
  }
};

}  // namespace

Tensor nms(const Tensor& boxes, const Tensor& scores, double iou_threshold, int64_t max_num, int64_t offset) {
  require_boxes_and_scores("nms", boxes, scores);
  if (boxes.device().is_cuda()) {
    NmsConfig cfg;
    cfg.iou_threshold = iou_threshold;
    cfg.max_num = max_num;
    cfg.offset = offset;
    cfg.class_agnostic = true;
    cfg.split_threshold = std::numeric_limits<int64_t>::max();
    return batched_nms(boxes, scores, Tensor::zeros(scores.shape(), DType::kI64, boxes.device()), cfg).keep;
  }
  const Tensor host = boxes.to(DType::kF32), ranks = scores.to(kCPU).to(DType::kF32);
  const float threshold = static_cast<float>(iou_threshold), shift = static_cast<float>(offset);
  KeptBoxes kept;
  std::vector<int64_t> inds;
  for (const int64_t row : rows_by_score(ranks).to_vector<int64_t>()) {
    if (max_num > 0 && static_cast<int64_t>(inds.size()) == max_num) break;
    const NmsBox box(host.data<float>() + 4 * row, shift);
    if (kept.suppress(box, threshold, shift)) continue;
    kept.add(box);
    inds.push_back(row);
  }
  return Tensor::from(inds, {-1});
}

}  // namespace osprey
