#pragma once

#include <algorithm>

namespace osprey {

// IoU of two xyxy boxes as mmdetection's numpy bbox_overlaps rounds it: f32, and 1e-6 is a floor of the
// union.
inline float f32_overlap(const float* a, const float* b) {
  const float w = std::max(std::min(a[2], b[2]) - std::max(a[0], b[0]), 0.0f);
  const float h = std::max(std::min(a[3], b[3]) - std::max(a[1], b[1]), 0.0f);
  const float common = w * h;
  const float joined = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common;
  return common / std::max(joined, 1e-6f);
}

}  // namespace osprey
