#pragma once

#include <opencv2/core/mat.hpp>

#include "core/config/config.h"

// What the colour transforms of AutoAugment share (Cubuk et al., "AutoAugment", 2019).
namespace osprey {

// `level` in [0, 10] as a strength: 0.1 to 1.9, 1 leaves the image alone.
double read_enhancement(const ConfigNode& cfg);

// factor * img + (1 - factor) * other, in f32, cut to [0, 255] and to img's type without rounding, as mmcv's
// adjust_brightness and adjust_contrast do.
cv::Mat blend(const cv::Mat& img, const cv::Mat& other, double factor);

}  // namespace osprey
