#pragma once

#include <string>

#include "core/data/coco_file.h"

namespace osprey {

// Why an annotation cannot be trained on: "" when it can. Its box must be finite, overlap the image and be at
// least a pixel wide and high, its area must be positive (mmdetection's _parse_ann_info; a box of NaN passes
// there).
std::string invalid_reason(const CocoAnnotation& annotation, const CocoImage& image);

}  // namespace osprey
