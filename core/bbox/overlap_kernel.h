#pragma once

#include "core/bbox/bbox_overlaps.h"
#include "core/tensor/device_kernel.h"

// The overlap of two boxes, once for all that compare boxes. Every product is rounded by itself: the CUDA
// side is compiled without contraction to FMA.
namespace osprey {

struct BoxEdges {
  float x1, y1, x2, y2, area;

  OSPREY_HD static BoxEdges of(const float* xyxy) {
    return {xyxy[0], xyxy[1], xyxy[2], xyxy[3], (xyxy[2] - xyxy[0]) * (xyxy[3] - xyxy[1])};
  }
};

namespace internal {

// On a NaN these return their second argument; a NaN in the first one reaches the result through its area.
OSPREY_HD inline float lesser(float a, float b) { return a < b ? a : b; }
OSPREY_HD inline float greater(float a, float b) { return a > b ? a : b; }
OSPREY_HD inline float at_least(float floor, float x) { return x < floor ? floor : x; }

}  // namespace internal

// NaN when either box has one. kIoF divides by the area of a.
template <OverlapMode mode>
OSPREY_HD inline float box_overlap(const BoxEdges& a, const BoxEdges& b, float eps) {
  using namespace internal;
  const float w = at_least(0, lesser(a.x2, b.x2) - greater(a.x1, b.x1));
  const float h = at_least(0, lesser(a.y2, b.y2) - greater(a.y1, b.y1));
  const float overlap = w * h;
  const float covered = mode == OverlapMode::kIoF ? a.area : a.area + b.area - overlap;
  const float whole = at_least(eps, covered);
  float value = overlap / whole;
  if constexpr (mode == OverlapMode::kGIoU) {
    const float hull_w = at_least(0, greater(a.x2, b.x2) - lesser(a.x1, b.x1));
    const float hull_h = at_least(0, greater(a.y2, b.y2) - lesser(a.y1, b.y1));
    const float hull = at_least(eps, hull_w * hull_h);
    value -= (hull - whole) / hull;
  }
  return value;
}

// CUDA only. a f32 (m, 4), b f32 (n, 4); overlaps (m, n), or (m) when aligned. Nothing is empty.
extern DeviceKernel<void(const Tensor& a, const Tensor& b, OverlapMode mode, bool aligned, float eps,
                         Tensor& overlaps)>
    bbox_overlaps_kernel;

}  // namespace osprey
