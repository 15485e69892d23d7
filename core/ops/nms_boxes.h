#pragma once

#include "core/tensor/tensor.h"

// What the kinds of NMS share.
namespace osprey {

struct NmsBox {
  float x1, y1, x2, y2, area;

  OSPREY_HD NmsBox(float left, float top, float right, float bottom, float covered)
      : x1(left), y1(top), x2(right), y2(bottom), area(covered) {}
  OSPREY_HD NmsBox(const float* xyxy, float offset)
      : NmsBox(xyxy[0], xyxy[1], xyxy[2], xyxy[3],
               (xyxy[2] - xyxy[0] + offset) * (xyxy[3] - xyxy[1] + offset)) {}
};

// Every product rounded by itself, as in mmcv; NaN for two boxes without area.
OSPREY_HD inline float nms_iou(const NmsBox& a, const NmsBox& b, float offset) {
  const float left = a.x1 > b.x1 ? a.x1 : b.x1, top = a.y1 > b.y1 ? a.y1 : b.y1;
  const float right = a.x2 < b.x2 ? a.x2 : b.x2, bottom = a.y2 < b.y2 ? a.y2 : b.y2;
  const float w = right - left + offset, h = bottom - top + offset;
  const float overlap = (w > 0 ? w : 0) * (h > 0 ? h : 0);
  return overlap / (a.area + b.area - overlap);
}

inline void require_boxes_and_scores(const char* op, const Tensor& boxes, const Tensor& scores) {
  OSPREY_REQUIRE(boxes.rank() == 2 && boxes.dim(1) == 4 && scores.shape() == Shape{boxes.dim(0)}, op,
                 ": boxes must be (n, 4) with scores (n), got ", to_string(boxes.shape()), " and ",
                 to_string(scores.shape()));
}

}  // namespace osprey
