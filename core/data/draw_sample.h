#pragma once

#include <string>
#include <vector>

#include "core/data/sample.h"

namespace osprey {

// The sample's image with its ground truth drawn in: masks tinted, boxes outlined in their class's colour and
// named, ignored boxes in white. u8 BGR. Requires an image that was not normalised.
cv::Mat draw_sample(const Sample& sample, const std::vector<std::string>& classes);

// The sample with image, boxes and masks enlarged by a whole factor until the short side has 480 pixels, so that
// labels of a readable size leave the objects of a small image visible; a large one comes back as it is.
Sample enlarged_for_drawing(const Sample& sample);

}  // namespace osprey
