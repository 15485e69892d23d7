#pragma once

#include <opencv2/core/mat.hpp>
#include <string>
#include <vector>

#include "core/detection/result.h"

namespace osprey {

// Draws what was found into a BGR image of the original size: masks half transparent, boxes, and
// "class|0.87", as mmdetection's show_result; worse scores first, so that better ones lie on top. Detections
// below `score_thr` are left out.
void draw_detections(cv::Mat& image, const DetectionResult& result, const std::vector<std::string>& classes,
                     double score_thr);

}  // namespace osprey
