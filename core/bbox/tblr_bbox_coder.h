#pragma once

#include "core/bbox/bbox_coder.h"

namespace osprey {

struct TblrScale;
struct DecodeTblr;

// Zhu et al., "Feature Selective Anchor-Free Module": a box as the distances from the prior's centre to its
// top, bottom, left and right sides, over the prior's height and width (normalize_by_wh) and a normalizer.
class TBLRBBoxCoder final : public BBoxCoder {
 public:
  // normalizer (4, or four numbers, != 0), normalize_by_wh (true), clip_border (true).
  explicit TBLRBBoxCoder(const ConfigNode& cfg);
  Tensor encode(const Tensor& bboxes, const Tensor& gt_bboxes) const override;
  // deltas (n, 4) only.
  Tensor decode(const Tensor& bboxes, const Tensor& deltas,
                std::optional<std::array<int64_t, 2>> max_shape) const override;
  Variable decode(const Tensor& bboxes, const Variable& deltas,
                  std::optional<std::array<int64_t, 2>> max_shape) const override;

 private:
  TblrScale scale() const;
  DecodeTblr decoder(const Tensor& priors, const Tensor& deltas,
                     const std::optional<std::array<int64_t, 2>>& max_shape) const;

  std::array<float, 4> normalizer_;
  bool normalize_by_wh_, clip_border_;
};

}  // namespace osprey
