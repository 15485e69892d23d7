#pragma once

#include <vector>

#include "core/detection/batch.h"
#include "core/detection/result.h"
#include "core/ops/nms.h"

namespace osprey {

// Boxes of one image on their way to its result.
struct Detections {
  Tensor bboxes;  // f32 (k, 4)
  Tensor scores;  // f32 (k)
  Tensor labels;  // i64 (k)

  // Grouped by class in ascending order, keeping the order within a class.
  static Detections from(const MulticlassNmsResult& nms);
  // The boxes in pixels of the network's input, when they are now in those of the file.
  Tensor in_network_pixels(const ImgMeta& meta, bool rescaled) const;
};

DetectionResult to_result(const Detections& detections);

// Rows [begin, end) of each image in a tensor that holds all images one after the other.
Tensors split_rows(const Tensor& all, const Tensors& like);

// First four columns of boxes (n, 4) or (n, 5).
Tensors without_scores(const Tensors& boxes);

}  // namespace osprey
