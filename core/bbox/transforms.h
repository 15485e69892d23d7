#pragma once

#include <array>
#include <string>

#include "core/tensor/tensor.h"

// Boxes are f32 (n, 4 * k) xyxy in pixels; shapes are {h, w}. Results are on the device of the (first) boxes,
// and the host waits for nothing, but for bbox2result.
namespace osprey {

// One f32 (sum of n, 5) table of RoIs: image index, x1, y1, x2, y2. bboxes[i] (n, >= 4) belongs to image i;
// further columns (scores) are dropped.
Tensor bbox2roi(const Tensors& bboxes);

// f32 (n, 4) of boxes (n, c) with c >= 4: without what follows, e.g. scores.
Tensor first_four(const Tensor& boxes);

// Boxes f32 (n, c), where rows with a number that is not finite are zeros. penalty, f32 (1 element) beside
// them, becomes NaN when there is one, and is left alone otherwise.
Tensor zero_nonfinite_rows(const Tensor& boxes, Tensor& penalty);

// i64 (n): the level of a pyramid that each of the RoIs f32 (n, 5) is cut from, by its size:
// floor(log2(sqrt(w h) / finest_scale + 1e-6)) within [0, num_levels). Lin et al., "Feature Pyramid
// Networks", eq. (1).
Tensor map_roi_levels(const Tensor& rois, float finest_scale, size_t num_levels);

// RoIs f32 (n, 5), `factor` times as wide and as high about their centers.
Tensor scale_rois(const Tensor& rois, float factor);

// Mirrors within the image: w - x, h - y. direction: "horizontal", "vertical" or "diagonal" (both).
Tensor bbox_flip(const Tensor& bboxes, std::array<int64_t, 2> img_shape, const std::string& direction);

// From pixels of the file to those of the network input, and back: scaling by scale_factor (w, h, w, h), then
// flipping.
Tensor bbox_mapping(const Tensor& bboxes, std::array<int64_t, 2> img_shape,
                    const std::array<float, 4>& scale_factor, bool flip,
                    const std::string& flip_direction = "horizontal");
Tensor bbox_mapping_back(const Tensor& bboxes, std::array<int64_t, 2> img_shape,
                         const std::array<float, 4>& scale_factor, bool flip,
                         const std::string& flip_direction = "horizontal");

// Rows of one tensor per class, in order: what mmdetection's result lists hold. bboxes (n, c), labels i64 (n)
// in [0, num_classes).
Tensors bbox2result(const Tensor& bboxes, const Tensor& labels, int64_t num_classes);

}  // namespace osprey
