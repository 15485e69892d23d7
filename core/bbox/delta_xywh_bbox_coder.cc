#include "core/bbox/delta_xywh_bbox_coder.h"

#include <cmath>
#include <limits>

#include "core/base/parallel.h"

namespace osprey {

namespace {

using Box = std::array<float, 4>;

constexpr int64_t kGrain = 1024;  // boxes; each costs two exponentials or logarithms
// |ln(wh_ratio_clip)| of mmdetection, wh_ratio_clip = 16 / 1000: no box grows more than 62-fold.
const float kMaxLog = static_cast<float>(std::abs(std::log(16.0 / 1000)));

std::array<float, 4> read_four(const ConfigNode& cfg, const std::string& key, std::vector<double> fallback,
                               const Constraint& constraint) {
  const auto values = cfg.get<std::vector<double>>(key, std::move(fallback), constraint);
  if (values.size() != 4) cfg[key].fail(str_cat("must hold four numbers, holds ", values.size()));
  Box four;
  for (size_t i = 0; i < 4; ++i) four[i] = static_cast<float>(values[i]);
  return four;
}

struct CentredBox {
  float x, y, w, h;
};

CentredBox centred(const float* box) {
  return {(box[0] + box[2]) * 0.5f, (box[1] + box[3]) * 0.5f, box[2] - box[0], box[3] - box[1]};
}

// Keeps NaN, unlike std::clamp with swapped comparisons.
float clamp(float x, float low, float high) { return x < low ? low : x > high ? high : x; }

// Whether clamp() passed x through, ends included.
bool within(float x, float low, float high) { return !(x < low || x > high); }

// One axis of decode_grad: corners x - s / 2, x + s / 2 with x = p + size * shift, s = size * exp(log).
struct AxisGrad {
  float shift, log;
};
AxisGrad axis_grad(float centre, float size, float shift, float log, float low, float high, float g_low,
                   float g_high) {
  const float x = centre + size * shift, s = size * std::exp(clamp(log, -kMaxLog, kMaxLog));
  const float g1 = within(x - s * 0.5f, low, high) ? g_low : 0;
  const float g2 = within(x + s * 0.5f, low, high) ? g_high : 0;
  return {size * (g1 + g2), within(log, -kMaxLog, kMaxLog) ? 0.5f * s * (g2 - g1) : 0};
}

void require_boxes(const Tensor& boxes, const char* op, const char* name) {
  OSPREY_REQUIRE(boxes.rank() == 2 && boxes.dim(1) == 4, op, ": ", name, " must be (n, 4), got ",
                 to_string(boxes.shape()));
}

}  // namespace

DeltaXYWHBBoxCoder::DeltaXYWHBBoxCoder(const ConfigNode& cfg)
    : means_(read_four(cfg, "target_means", {0, 0, 0, 0}, finite())),
      stds_(read_four(cfg, "target_stds", {1, 1, 1, 1}, positive())),
      clip_border_(cfg.get("clip_border", true)) {
  for (const float std : stds_) {
    if (!(std > 0)) cfg["target_stds"].fail("must be > 0");
  }
}

Tensor DeltaXYWHBBoxCoder::encode(const Tensor& bboxes, const Tensor& gt_bboxes) const {
  require_boxes(bboxes, "DeltaXYWHBBoxCoder.encode", "bboxes");
  OSPREY_REQUIRE(bboxes.shape() == gt_bboxes.shape(), "DeltaXYWHBBoxCoder.encode: bboxes ",
                 to_string(bboxes.shape()), ", gt_bboxes ", to_string(gt_bboxes.shape()));
  const Tensor sources = bboxes.to(kCPU).to(DType::kF32), targets = gt_bboxes.to(kCPU).to(DType::kF32);
  Tensor deltas(bboxes.shape(), DType::kF32);
  const float* source = sources.data<float>();
  const float* target = targets.data<float>();
  float* out = deltas.mutable_data<float>();
  parallel_ranges(bboxes.dim(0), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const CentredBox p = centred(source + 4 * i), g = centred(target + 4 * i);
      const Box delta{(g.x - p.x) / p.w, (g.y - p.y) / p.h, std::log(g.w / p.w), std::log(g.h / p.h)};
      for (int64_t k = 0; k < 4; ++k) out[4 * i + k] = (delta[k] - means_[k]) / stds_[k];
    }
  });
  return deltas;
}

DeltaXYWHBBoxCoder::Limits DeltaXYWHBBoxCoder::limits_of(
    const std::optional<std::array<int64_t, 2>>& max_shape) const {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (!clip_border_ || !max_shape) return {-kInfinity, kInfinity, kInfinity};
  return {0, static_cast<float>((*max_shape)[1]), static_cast<float>((*max_shape)[0])};
}

Box DeltaXYWHBBoxCoder::denormalised(const float* delta) const {
  Box result;
  for (size_t k = 0; k < 4; ++k) result[k] = delta[k] * stds_[k] + means_[k];
  return result;
}

Tensor DeltaXYWHBBoxCoder::decode(const Tensor& bboxes, const Tensor& deltas,
                                  std::optional<std::array<int64_t, 2>> max_shape) const {
  require_boxes(bboxes, "DeltaXYWHBBoxCoder.decode", "bboxes");
  OSPREY_REQUIRE(deltas.rank() == 2 && deltas.dim(0) == bboxes.dim(0) && deltas.dim(1) % 4 == 0,
                 "DeltaXYWHBBoxCoder.decode: deltas must be (", bboxes.dim(0), ", classes * 4), got ",
                 to_string(deltas.shape()));
  const Tensor sources = bboxes.to(kCPU).to(DType::kF32), shifts = deltas.to(kCPU).to(DType::kF32);
  Tensor boxes(deltas.shape(), DType::kF32);
  const int64_t classes = deltas.dim(1) / 4;
  const Limits limits = limits_of(max_shape);
  const float* source = sources.data<float>();
  const float* shift = shifts.data<float>();
  float* out = boxes.mutable_data<float>();
  parallel_ranges(deltas.numel() / 4, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const CentredBox p = centred(source + 4 * (i / classes));
      const Box delta = denormalised(shift + 4 * i);
      const float x = p.x + p.w * delta[0], y = p.y + p.h * delta[1];
      const float w = p.w * std::exp(clamp(delta[2], -kMaxLog, kMaxLog));
      const float h = p.h * std::exp(clamp(delta[3], -kMaxLog, kMaxLog));
      out[4 * i + 0] = clamp(x - w * 0.5f, limits.low, limits.right);
      out[4 * i + 1] = clamp(y - h * 0.5f, limits.low, limits.bottom);
      out[4 * i + 2] = clamp(x + w * 0.5f, limits.low, limits.right);
      out[4 * i + 3] = clamp(y + h * 0.5f, limits.low, limits.bottom);
    }
  });
  return boxes;
}

Variable DeltaXYWHBBoxCoder::decode(const Tensor& bboxes, const Variable& deltas,
                                    std::optional<std::array<int64_t, 2>> max_shape) const {
  return record("bbox_decode", decode(bboxes, deltas.value(), max_shape), {deltas},
                [coder = *this, bboxes, deltas = deltas.value(), limits = limits_of(max_shape)](
                    const Tensor& g) { return Gradients{coder.decode_grad(bboxes, deltas, limits, g)}; });
}

Tensor DeltaXYWHBBoxCoder::decode_grad(const Tensor& bboxes, const Tensor& deltas, const Limits& limits,
                                       const Tensor& grad) const {
  const Tensor sources = bboxes.to(kCPU).to(DType::kF32), shifts = deltas.to(kCPU).to(DType::kF32);
  const Tensor upstream = grad.to(kCPU).to(DType::kF32);
  Tensor result(deltas.shape(), DType::kF32);
  const int64_t classes = deltas.dim(1) / 4;
  const float* source = sources.data<float>();
  const float* shift = shifts.data<float>();
  const float* up = upstream.data<float>();
  float* out = result.mutable_data<float>();
  parallel_ranges(deltas.numel() / 4, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const CentredBox p = centred(source + 4 * (i / classes));
      const Box delta = denormalised(shift + 4 * i);
      const float* g = up + 4 * i;
      const AxisGrad x = axis_grad(p.x, p.w, delta[0], delta[2], limits.low, limits.right, g[0], g[2]);
      const AxisGrad y = axis_grad(p.y, p.h, delta[1], delta[3], limits.low, limits.bottom, g[1], g[3]);
      const Box slope{x.shift, y.shift, x.log, y.log};
      for (size_t k = 0; k < 4; ++k) out[4 * i + k] = slope[k] * stds_[k];
    }
  });
  return result.to(deltas.device());
}

OSPREY_REGISTER(BBoxCoder, DeltaXYWHBBoxCoder);

}  // namespace osprey
