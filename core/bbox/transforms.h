#pragma once

#include <array>
#include <string>

#include "core/tensor/tensor.h"

// Boxes are f32 (n, 4 * k) xyxy in pixels; shapes are {h, w}.
namespace osprey {

// One f32 (sum of n, 5) table of RoIs: image index, x1, y1, x2, y2. bboxes[i] (n, >= 4) belongs to image i;
// further columns (scores) are dropped.
Tensor bbox2roi(const Tensors& bboxes);

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
