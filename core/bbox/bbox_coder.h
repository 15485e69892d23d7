#pragma once

#include <array>
#include <memory>
#include <optional>

#include "core/autograd/variable.h"
#include "core/registry/registry.h"

namespace osprey {

// Turns boxes into regression targets and back.
class BBoxCoder {
 public:
  virtual ~BBoxCoder() = default;
  // bboxes, gt_bboxes f32 (n, 4) -> f32 (n, encode_size()).
  virtual Tensor encode(const Tensor& bboxes, const Tensor& gt_bboxes) const = 0;
  // bboxes f32 (n, 4), deltas (n, 4) or (n, classes * 4) -> f32 of deltas' shape; clipped to [0, w] x [0, h]
  // when max_shape {h, w} is given.
  virtual Tensor decode(const Tensor& bboxes, const Tensor& deltas,
                        std::optional<std::array<int64_t, 2>> max_shape) const = 0;
};

// Girshick et al. 2014 (R-CNN), appendix C: dx, dy relative to the width and height, dw, dh as logarithms;
// normalised by target_means, target_stds. Decoding clamps |dw|, |dh| to |ln(wh_ratio_clip)|.
class DeltaXYWHBBoxCoder final : public BBoxCoder {
 public:
  explicit DeltaXYWHBBoxCoder(const ConfigNode& cfg);  // target_means, target_stds, clip_border
  Tensor encode(const Tensor& bboxes, const Tensor& gt_bboxes) const override;
  Tensor decode(const Tensor& bboxes, const Tensor& deltas,
                std::optional<std::array<int64_t, 2>> max_shape) const override;

 private:
  std::array<float, 4> means_, stds_;
  bool clip_border_;
};

OSPREY_DECLARE_REGISTRY(BBoxCoder);

}  // namespace osprey
