#include "core/data/draw_sample.h"

#include <algorithm>
#include <opencv2/imgproc.hpp>

#include "core/mask/instance_mask.h"

namespace osprey {
namespace {

// Neighbouring labels get distant hues (steps of the golden angle).
cv::Scalar color_of(int64_t label) {
  const cv::Mat hsv(1, 1, CV_8UC3, cv::Scalar(static_cast<double>(label * 68 % 180), 220, 255));
  cv::Mat bgr;
  cv::cvtColor(hsv, bgr, cv::COLOR_HSV2BGR);
  const auto pixel = bgr.at<cv::Vec3b>(0, 0);
  return {static_cast<double>(pixel[0]), static_cast<double>(pixel[1]), static_cast<double>(pixel[2])};
}

void tint(const InstanceMask& mask, const cv::Scalar& color, cv::Mat& image) {
  const Tensor bitmap = to_bitmap(mask);
  const uint8_t* inside = bitmap.data<uint8_t>();
  for (int y = 0; y < std::min<int>(image.rows, static_cast<int>(mask.h)); ++y) {
    for (int x = 0; x < std::min<int>(image.cols, static_cast<int>(mask.w)); ++x) {
      if (!inside[y * mask.w + x]) continue;
      auto& pixel = image.at<cv::Vec3b>(y, x);
      for (int c = 0; c < 3; ++c) pixel[c] = static_cast<uint8_t>((pixel[c] + color[c]) / 2);
    }
  }
}

void outline(const BBox& box, const cv::Scalar& color, cv::Mat& image) {
  const auto corner = [](float x, float y) { return cv::Point(cvRound(x), cvRound(y)); };
  cv::rectangle(image, corner(box[0], box[1]), corner(box[2], box[3]), color, 1);
}

// Above the box's upper left corner, where there is room, else just inside; moved into the image. The dark
// rim keeps it readable on any ground.
void name(const std::string& text, const BBox& box, const cv::Scalar& color, cv::Mat& image) {
  constexpr double kFontScale = 0.45;
  int below = 0;
  const cv::Size size = cv::getTextSize(text, cv::FONT_HERSHEY_SIMPLEX, kFontScale, 1, &below);
  const int height = size.height + below;
  const int top = cvRound(box[1]);
  const int y = top >= height ? top - below : std::min(top + size.height + 2, image.rows - below);
  const int x = std::clamp(cvRound(box[0]), 0, std::max(0, image.cols - size.width));
  for (const auto& [ink, width] : {std::pair{cv::Scalar::all(0), 3}, std::pair{color, 1}})
    cv::putText(image, text, {x, y}, cv::FONT_HERSHEY_SIMPLEX, kFontScale, ink, width, cv::LINE_AA);
}

}  // namespace

cv::Mat draw_sample(const Sample& sample, const std::vector<std::string>& classes) {
  cv::Mat image;
  sample.img.convertTo(image, CV_8U);
  for (size_t i = 0; i < sample.gt_masks.size(); ++i) {
    tint(sample.gt_masks[i], color_of(sample.gt_labels.empty() ? 0 : sample.gt_labels[i]), image);
  }
  for (const BBox& box : sample.gt_bboxes_ignore) outline(box, cv::Scalar::all(255), image);
  for (size_t i = 0; i < sample.gt_bboxes.size(); ++i) {
    const int64_t label = sample.gt_labels.empty() ? 0 : sample.gt_labels[i];
    const BBox& box = sample.gt_bboxes[i];
    outline(box, color_of(label), image);
    if (!sample.gt_labels.empty()) name(classes.at(label), box, color_of(label), image);
  }
  return image;
}

Sample enlarged_for_drawing(const Sample& sample) {
  constexpr int kShortSide = 480;
  const int short_side = std::min(sample.img.rows, sample.img.cols);
  if (short_side == 0 || short_side >= kShortSide) return sample;
  const int factor = (kShortSide + short_side - 1) / short_side;
  Sample large = sample;
  cv::resize(sample.img, large.img, {}, factor, factor, cv::INTER_NEAREST);
  for (std::vector<BBox>* boxes : {&large.gt_bboxes, &large.gt_bboxes_ignore}) {
    for (BBox& box : *boxes) {
      for (float& edge : box) edge *= static_cast<float>(factor);
    }
  }
  for (InstanceMask& mask : large.gt_masks) mask = resize(mask, mask.h * factor, mask.w * factor);
  return large;
}

}  // namespace osprey
