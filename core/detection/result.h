#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/mask/instance_mask.h"
#include "core/tensor/tensor.h"

namespace osprey {

// Detections of one image in pixels of the original file.
struct DetectionResult {
  Tensor bboxes;           // f32 (k, 4) xyxy
  Tensor scores;           // f32 (k), descending within a class
  Tensor labels;           // i64 (k)
  std::vector<Rle> masks;  // k, or empty for detectors without a mask branch
  bool has_masks = false;
};

}  // namespace osprey
