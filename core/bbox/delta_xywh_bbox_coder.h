#pragma once

#include "core/bbox/bbox_coder.h"

namespace osprey {

struct BoxLimits;
struct DeltaNormalisation;

// Girshick et al. 2014 (R-CNN), appendix C: dx, dy relative to the width and height, dw, dh as logarithms;
// normalised by target_means, target_stds. Decoding clamps |dw|, |dh| to |ln(16 / 1000)| after undoing the
// normalisation; the shift of the centre is not clamped. A ground truth without width or height encodes to
// -inf, as in mmdetection: the data pipeline keeps such boxes out. NaN deltas or boxes decode to NaN.
class DeltaXYWHBBoxCoder final : public BBoxCoder {
 public:
  // target_means ([0, 0, 0, 0]), target_stds ([1, 1, 1, 1]), clip_border (true).
  explicit DeltaXYWHBBoxCoder(const ConfigNode& cfg);
  Tensor encode(const Tensor& bboxes, const Tensor& gt_bboxes) const override;
  Tensor decode(const Tensor& bboxes, const Tensor& deltas,
                std::optional<std::array<int64_t, 2>> max_shape) const override;
  // No gradient beyond the clamp of dw, dh, nor for a corner beyond the border.
  Variable decode(const Tensor& bboxes, const Variable& deltas,
                  std::optional<std::array<int64_t, 2>> max_shape) const override;

 private:
  BoxLimits limits_of(const std::optional<std::array<int64_t, 2>>& max_shape) const;
  Tensor decode_grad(const Tensor& bboxes, const Tensor& deltas, const BoxLimits& limits,
                     const Tensor& grad) const;
  DeltaNormalisation normalisation() const;

  std::array<float, 4> means_, stds_;
  bool clip_border_;
};

}  // namespace osprey
