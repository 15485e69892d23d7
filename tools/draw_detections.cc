#include "tools/draw_detections.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <opencv2/imgproc.hpp>

#include "core/base/error.h"
#include "core/mask/rle_spans.h"

namespace osprey {
namespace {

constexpr double kMaskOpacity = 0.5;
constexpr double kFontScale = 0.4;
constexpr int kPadding = 2;  // pixels around the text

// Hues a golden angle apart: neighbouring labels look different however many there are.
cv::Scalar colour_of(int64_t label) {
  const double hue = std::fmod(static_cast<double>(label) * 137.508, 360.0);
  cv::Mat pixel(1, 1, CV_32FC3, cv::Scalar(hue, 0.75, 1.0));
  cv::cvtColor(pixel, pixel, cv::COLOR_HSV2BGR);
  const cv::Vec3f bgr = pixel.at<cv::Vec3f>(0, 0);
  return cv::Scalar(bgr[0], bgr[1], bgr[2]) * 255.0;
}

void draw_mask(cv::Mat& image, const Rle& mask, const cv::Scalar& colour) {
  OSPREY_REQUIRE(mask.h == image.rows && mask.w == image.cols, "draw_detections: a mask of ", mask.h, " x ",
                 mask.w, " for an image of ", image.rows, " x ", image.cols);
  const ColumnSpans columns(mask);
  for (int64_t x = 0; x < mask.w; ++x) {
    columns.for_each(x, [&](Span span) {
      for (int64_t y = span.y0; y < span.y1; ++y) {
        cv::Vec3b& pixel = image.at<cv::Vec3b>(static_cast<int>(y), static_cast<int>(x));
        for (int c = 0; c < 3; ++c) {
          pixel[c] = cv::saturate_cast<uint8_t>(pixel[c] * (1 - kMaskOpacity) + colour[c] * kMaskOpacity);
        }
      }
    });
  }
}

// Below the box's upper left corner, on a dark ground, moved into the image.
void draw_text(cv::Mat& image, const std::string& text, cv::Point corner, const cv::Scalar& colour) {
  int below = 0;
  const cv::Size size = cv::getTextSize(text, cv::FONT_HERSHEY_SIMPLEX, kFontScale, 1, &below);
  const int width = size.width + 2 * kPadding, height = size.height + below + 2 * kPadding;
  corner.x = std::clamp(corner.x, 0, std::max(image.cols - width, 0));
  corner.y = std::clamp(corner.y, 0, std::max(image.rows - height, 0));
  cv::rectangle(image, cv::Rect(corner.x, corner.y, width, height), cv::Scalar::all(0), cv::FILLED);
  cv::putText(image, text, {corner.x + kPadding, corner.y + kPadding + size.height}, cv::FONT_HERSHEY_SIMPLEX,
              kFontScale, colour, 1, cv::LINE_AA);
}

std::string label_text(const std::vector<std::string>& classes, int64_t label, double score) {
  const bool known = label >= 0 && label < static_cast<int64_t>(classes.size());
  char text[16];
  std::snprintf(text, sizeof text, "|%.2f", score);
  return (known ? classes[label] : str_cat("class ", label)) + text;
}

cv::Point corner(const std::vector<double>& boxes, size_t index) {
  // Far outside the image OpenCV's integers would overflow.
  const auto pixel = [](double v) { return static_cast<int>(std::lround(std::clamp(v, -1e6, 1e6))); };
  return {pixel(boxes[index]), pixel(boxes[index + 1])};
}

}  // namespace

void draw_detections(cv::Mat& image, const DetectionResult& result, const std::vector<std::string>& classes,
                     double score_thr) {
  const std::vector<double> boxes = result.bboxes.to_doubles(), scores = result.scores.to_doubles();
  const std::vector<int64_t> labels = result.labels.to_vector<int64_t>();
  std::vector<size_t> order;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] >= score_thr) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] < scores[b]; });
  if (result.has_masks) {
    for (const size_t i : order) draw_mask(image, result.masks[i], colour_of(labels[i]));
  }
  for (const size_t i : order) {
    const cv::Scalar colour = colour_of(labels[i]);
    cv::rectangle(image, corner(boxes, 4 * i), corner(boxes, 4 * i + 2), colour, 1);
    draw_text(image, label_text(classes, labels[i], scores[i]), corner(boxes, 4 * i), colour);
  }
}

}  // namespace osprey
