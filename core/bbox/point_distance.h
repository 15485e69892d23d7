#pragma once

#include <array>
#include <optional>

#include "core/tensor/tensor.h"

// Boxes as seen from a point: the distances to their left, top, right and bottom sides (anchor-free heads).
// All f32, in pixels, on the device of `points` (n, 2), x and y. mmdetection's names.
namespace osprey {

// distance (n, 4) -> boxes (n, 4) xyxy, clipped to [0, w] x [0, h] when max_shape {h, w} is given.
Tensor distance2bbox(const Tensor& points, const Tensor& distance,
                     std::optional<std::array<int64_t, 2>> max_shape = std::nullopt);

// bboxes (n, 4) -> distances (n, 4), negative for a side that the point lies beyond. With max_dis they are
// clamped to [0, max_dis - eps]: what DistributionFocalLoss can express.
Tensor bbox2distance(const Tensor& points, const Tensor& bboxes, std::optional<double> max_dis = std::nullopt,
                     double eps = 0.1);

}  // namespace osprey
