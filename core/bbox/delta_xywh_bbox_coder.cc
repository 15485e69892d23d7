#include "core/bbox/delta_xywh_bbox_coder.h"

#include <cmath>
#include <limits>

#include "core/bbox/delta_xywh_kernel.h"

namespace osprey {

namespace {

using Box = std::array<float, 4>;

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
  const Device device = bboxes.device();
  const Tensor sources = bboxes.to(DType::kF32), targets = gt_bboxes.to(device).to(DType::kF32);
  Tensor deltas(bboxes.shape(), DType::kF32, device);
  for_rows(
      device, bboxes.dim(0),
      EncodeBox{normalisation(), sources.data<float>(), targets.data<float>(), deltas.mutable_data<float>()});
  return deltas;
}

BoxLimits DeltaXYWHBBoxCoder::limits_of(const std::optional<std::array<int64_t, 2>>& max_shape) const {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (!clip_border_ || !max_shape) return {-kInfinity, kInfinity, kInfinity};
  return {0, static_cast<float>((*max_shape)[1]), static_cast<float>((*max_shape)[0])};
}

DeltaNormalisation DeltaXYWHBBoxCoder::normalisation() const {
  DeltaNormalisation normalisation;
  for (size_t k = 0; k < 4; ++k) {
    normalisation.means[k] = means_[k];
    normalisation.stds[k] = stds_[k];
  }
  return normalisation;
}

Tensor DeltaXYWHBBoxCoder::decode(const Tensor& bboxes, const Tensor& deltas,
                                  std::optional<std::array<int64_t, 2>> max_shape) const {
  require_boxes(bboxes, "DeltaXYWHBBoxCoder.decode", "bboxes");
  OSPREY_REQUIRE(deltas.rank() == 2 && deltas.dim(0) == bboxes.dim(0) && deltas.dim(1) % 4 == 0,
                 "DeltaXYWHBBoxCoder.decode: deltas must be (", bboxes.dim(0), ", classes * 4), got ",
                 to_string(deltas.shape()));
  const Device device = deltas.device();
  const Tensor sources = bboxes.to(device).to(DType::kF32), shifts = deltas.to(DType::kF32);
  Tensor boxes(deltas.shape(), DType::kF32, device);
  for_rows(device, deltas.numel() / 4,
           DecodeBox{normalisation(), limits_of(max_shape), kMaxLog, deltas.dim(1) / 4, sources.data<float>(),
                     shifts.data<float>(), boxes.mutable_data<float>()});
  return boxes;
}

Variable DeltaXYWHBBoxCoder::decode(const Tensor& bboxes, const Variable& deltas,
                                    std::optional<std::array<int64_t, 2>> max_shape) const {
  return record("bbox_decode", decode(bboxes, deltas.value(), max_shape), {deltas},
                [coder = *this, bboxes, deltas = deltas.value(), limits = limits_of(max_shape)](
                    const Tensor& g) { return Gradients{coder.decode_grad(bboxes, deltas, limits, g)}; });
}

Tensor DeltaXYWHBBoxCoder::decode_grad(const Tensor& bboxes, const Tensor& deltas, const BoxLimits& limits,
                                       const Tensor& grad) const {
  const Device device = deltas.device();
  const Tensor sources = bboxes.to(device).to(DType::kF32), shifts = deltas.to(DType::kF32);
  const Tensor upstream = grad.to(device).to(DType::kF32);
  Tensor result(deltas.shape(), DType::kF32, device);
  for_rows(device, deltas.numel() / 4,
           DecodeBoxGrad{normalisation(), limits, kMaxLog, deltas.dim(1) / 4, sources.data<float>(),
                         shifts.data<float>(), upstream.data<float>(), result.mutable_data<float>()});
  return result;
}

OSPREY_REGISTER(BBoxCoder, DeltaXYWHBBoxCoder);

}  // namespace osprey
