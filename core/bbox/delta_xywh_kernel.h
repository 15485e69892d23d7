#pragma once

#include <cmath>
#include <cstdint>

#include "core/ops/rows.h"
#include "core/tensor/half.h"

// DeltaXYWHBBoxCoder's arithmetic for one box.
namespace osprey {

struct DeltaNormalisation {
  float means[4], stds[4];
};

struct BoxLimits {  // of the corners: [low, right] x [low, bottom]
  float low, right, bottom;
};

namespace internal {

struct CentredBox {
  float x, y, w, h;
};
OSPREY_HD inline CentredBox centred(const float* box) {
  return {(box[0] + box[2]) * 0.5f, (box[1] + box[3]) * 0.5f, box[2] - box[0], box[3] - box[1]};
}

// Keeps NaN, unlike std::clamp with swapped comparisons.
OSPREY_HD inline float clamp(float x, float low, float high) { return x < low ? low : x > high ? high : x; }

// Whether clamp() passed x through, ends included.
OSPREY_HD inline bool within(float x, float low, float high) { return !(x < low || x > high); }

// One axis of the gradient: corners x - s / 2, x + s / 2 with x = p + size * shift, s = size * exp(log).
struct AxisGrad {
  float shift, log;
};
OSPREY_HD inline AxisGrad axis_grad(float centre, float size, float shift, float log, float max_log,
                                    float low, float high, float g_low, float g_high) {
  const float x = centre + size * shift, s = size * std::exp(clamp(log, -max_log, max_log));
  const float g1 = within(x - s * 0.5f, low, high) ? g_low : 0;
  const float g2 = within(x + s * 0.5f, low, high) ? g_high : 0;
  return {size * (g1 + g2), within(log, -max_log, max_log) ? 0.5f * s * (g2 - g1) : 0};
}

}  // namespace internal

struct EncodeBox {
  static constexpr char kName[] = "bbox_encode";
  DeltaNormalisation norm;
  const float *boxes, *gts;  // (n, 4)
  float* deltas;
  OSPREY_HD void operator()(int64_t i) const {
    const internal::CentredBox p = internal::centred(boxes + 4 * i), g = internal::centred(gts + 4 * i);
    const float delta[4] = {(g.x - p.x) / p.w, (g.y - p.y) / p.h, std::log(g.w / p.w), std::log(g.h / p.h)};
    for (int k = 0; k < 4; ++k) deltas[4 * i + k] = (delta[k] - norm.means[k]) / norm.stds[k];
  }
};

struct DecodeBox {
  static constexpr char kName[] = "bbox_decode";
  DeltaNormalisation norm;
  BoxLimits limits;
  float max_log;    // |dw|, |dh| are clamped to it
  int64_t classes;  // deltas of one box
  const float *boxes, *deltas;
  float* out;
  OSPREY_HD void operator()(int64_t i) const {
    const internal::CentredBox p = internal::centred(boxes + 4 * (i / classes));
    float delta[4];
    for (int k = 0; k < 4; ++k) delta[k] = deltas[4 * i + k] * norm.stds[k] + norm.means[k];
    const float x = p.x + p.w * delta[0], y = p.y + p.h * delta[1];
    const float w = p.w * std::exp(internal::clamp(delta[2], -max_log, max_log));
    const float h = p.h * std::exp(internal::clamp(delta[3], -max_log, max_log));
    out[4 * i + 0] = internal::clamp(x - w * 0.5f, limits.low, limits.right);
    out[4 * i + 1] = internal::clamp(y - h * 0.5f, limits.low, limits.bottom);
    out[4 * i + 2] = internal::clamp(x + w * 0.5f, limits.low, limits.right);
    out[4 * i + 3] = internal::clamp(y + h * 0.5f, limits.low, limits.bottom);
  }
};

struct DecodeBoxGrad {
  static constexpr char kName[] = "bbox_decode backward";
  DeltaNormalisation norm;
  BoxLimits limits;
  float max_log;
  int64_t classes;
  const float *boxes, *deltas, *grad;
  float* out;
  OSPREY_HD void operator()(int64_t i) const {
    const internal::CentredBox p = internal::centred(boxes + 4 * (i / classes));
    float d[4];
    for (int k = 0; k < 4; ++k) d[k] = deltas[4 * i + k] * norm.stds[k] + norm.means[k];
    const float* g = grad + 4 * i;
    const internal::AxisGrad x =
        internal::axis_grad(p.x, p.w, d[0], d[2], max_log, limits.low, limits.right, g[0], g[2]);
    const internal::AxisGrad y =
        internal::axis_grad(p.y, p.h, d[1], d[3], max_log, limits.low, limits.bottom, g[1], g[3]);
    const float slope[4] = {x.shift, y.shift, x.log, y.log};
    for (int k = 0; k < 4; ++k) out[4 * i + k] = slope[k] * norm.stds[k];
  }
};

}  // namespace osprey
