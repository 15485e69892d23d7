#pragma once

#include <string>
#include <vector>

#include "core/data/sample.h"

namespace osprey {

// The sample's image with its ground truth drawn in: masks tinted, boxes outlined in their class's colour and
// named, ignored boxes in white. u8 BGR. Requires an image that was not normalised.
cv::Mat draw_sample(const Sample& sample, const std::vector<std::string>& classes);

}  // namespace osprey
