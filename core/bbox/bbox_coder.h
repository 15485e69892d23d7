#pragma once

#include <array>
#include <memory>
#include <optional>

#include "core/autograd/variable.h"
#include "core/registry/registry.h"

namespace osprey {

// Turns boxes into regression targets and back. Halves are widened: box arithmetic is always f32. Results are
// on the device of `bboxes` (encode) and of `deltas` (decode).
class BBoxCoder {
 public:
  virtual ~BBoxCoder() = default;
  // bboxes, gt_bboxes f32 (n, 4) -> f32 (n, encode_size()).
  virtual Tensor encode(const Tensor& bboxes, const Tensor& gt_bboxes) const = 0;
  // bboxes f32 (n, 4), deltas (n, 4) or (n, classes * 4) -> f32 of deltas' shape; clipped to [0, w] x [0, h]
  // when max_shape {h, w} is given.
  virtual Tensor decode(const Tensor& bboxes, const Tensor& deltas,
                        std::optional<std::array<int64_t, 2>> max_shape) const = 0;
  // The same on the tape, with a gradient for the deltas (losses on decoded boxes).
  virtual Variable decode(const Tensor& bboxes, const Variable& deltas,
                          std::optional<std::array<int64_t, 2>> max_shape) const = 0;
  // Numbers that describe one box.
  virtual int64_t encode_size() const { return 4; }
};

OSPREY_DECLARE_REGISTRY(BBoxCoder);

}  // namespace osprey
