#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/ops/rows.h"
#include "core/tensor/half.h"

namespace osprey {

// Four numbers of (n, 4 * k): multiplied, then mirrored within w x h, then divided. Steps that are not wanted
// multiply and divide by 1, which changes nothing.
struct MapBox {
  static constexpr char kName[] = "bbox_mapping";
  float multiply[4], divide[4];
  bool across, down;
  float w, h;
  const float* in;
  float* out;
  OSPREY_HD void operator()(int64_t i) const {
    const float* box = in + 4 * i;
    const float x1 = box[0] * multiply[0], y1 = box[1] * multiply[1];
    const float x2 = box[2] * multiply[2], y2 = box[3] * multiply[3];
    float* to = out + 4 * i;
    to[0] = (across ? w - x2 : x1) / divide[0];
    to[1] = (down ? h - y2 : y1) / divide[1];
    to[2] = (across ? w - x1 : x2) / divide[2];
    to[3] = (down ? h - y1 : y2) / divide[3];
  }
};

// The first four of `columns`, behind an image's index when there is one.
struct CopyBox {
  static constexpr char kName[] = "copy boxes";
  const float* in;
  int64_t columns;
  bool roi;  // out (n, 5) instead of (n, 4)
  float image;
  float* out;
  OSPREY_HD void operator()(int64_t i) const {
    float* to = out + i * (roi ? 5 : 4);
    if (roi) *to++ = image;
    for (int k = 0; k < 4; ++k) to[k] = in[i * columns + k];
  }
};

// Rows with a number that is not finite become zeros, and penalty[0] NaN.
struct ZeroNonfinite {
  static constexpr char kName[] = "zero_nonfinite_rows";
  const float* in;
  int64_t columns;
  float *out, *penalty;
  OSPREY_HD void operator()(int64_t i) const {
    bool finite = true;
    for (int64_t k = 0; k < columns; ++k) {
      const float value = in[i * columns + k];
      finite = finite && value - value == 0;
    }
    for (int64_t k = 0; k < columns; ++k) out[i * columns + k] = finite ? in[i * columns + k] : 0;
    if (!finite) *penalty = std::numeric_limits<float>::quiet_NaN();
  }
};

// RoIs (n, 5) about their centers.
struct ScaleRoI {
  static constexpr char kName[] = "scale_rois";
  const float* in;
  float factor;
  float* out;
  OSPREY_HD void operator()(int64_t i) const {
    const float* roi = in + 5 * i;
    float* to = out + 5 * i;
    to[0] = roi[0];
    for (int k = 1; k <= 2; ++k) {
      const float center = (roi[k] + roi[k + 2]) * 0.5f, half = (roi[k + 2] - roi[k]) * factor * 0.5f;
      to[k] = center - half;
      to[k + 2] = center + half;
    }
  }
};

// Lin et al., "Feature Pyramid Networks", eq. (1), from RoIs (n, 5). A NaN RoI, which RoIAlign answers with
// zeros, belongs nowhere: level 0.
struct RoILevel {
  static constexpr char kName[] = "map_roi_levels";
  const float* rois;
  float finest_scale, last_level;
  int64_t* levels;
  OSPREY_HD void operator()(int64_t i) const {
    const float* roi = rois + 5 * i;
    const float scale = std::sqrt((roi[3] - roi[1]) * (roi[4] - roi[2]));
    float level = std::floor(std::log2(scale / finest_scale + 1e-6f));
    level = level < 0 ? 0 : level > last_level ? last_level : level;
    levels[i] = level != level ? 0 : static_cast<int64_t>(level);
  }
};

}  // namespace osprey
