#include "core/data/pipelines/enhance.h"

#include <algorithm>

#include <opencv2/core.hpp>

namespace osprey {

double read_enhancement(const ConfigNode& cfg) {
  return cfg.get<double>("level", between(0, 10)) / 10 * 1.8 + 0.1;
}

cv::Mat blend(const cv::Mat& img, const cv::Mat& other, double factor) {
  cv::Mat a, b, mixed;
  img.convertTo(a, CV_32F);
  other.convertTo(b, CV_32F);
  cv::addWeighted(a, factor, b, 1 - factor, 0, mixed);
  mixed = cv::min(cv::max(mixed, 0.0), 255.0);
  if (img.depth() != CV_8U) return mixed;
  cv::Mat bytes(mixed.size(), CV_8UC3);
  for (int y = 0; y < mixed.rows; ++y) {
    const float* from = mixed.ptr<float>(y);
    std::transform(from, from + 3 * mixed.cols, bytes.ptr<uint8_t>(y),
                   [](float v) { return static_cast<uint8_t>(v); });
  }
  return bytes;
}

}  // namespace osprey
