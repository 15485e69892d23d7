#include <algorithm>
#include <opencv2/core.hpp>
#include <optional>

#include "core/data/pipelines/transform.h"
#include "core/mask/instance_mask.h"

namespace osprey {
namespace {

constexpr int kTries = 50;  // windows, before another threshold is drawn

// Overlap of a window with a box, over their union.
double iou(const cv::Rect& window, const BBox& box) {
  const double w = std::min<double>(window.x + window.width, box[2]) - std::max<double>(window.x, box[0]);
  const double h = std::min<double>(window.y + window.height, box[3]) - std::max<double>(window.y, box[1]);
  const double both = std::max(w, 0.0) * std::max(h, 0.0);
  return both /
         std::max(window.area() + (box[2] - box[0]) * static_cast<double>(box[3] - box[1]) - both, 1e-6);
}

bool holds_center(const cv::Rect& window, const BBox& box) {
  const float x = (box[0] + box[2]) / 2, y = (box[1] + box[3]) / 2;
  return x > static_cast<float>(window.x) && x < static_cast<float>(window.x + window.width) &&
         y > static_cast<float>(window.y) && y < static_cast<float>(window.y + window.height);
}

// The crop of SSD (Liu et al. 2016, section 2.2): draws one of the whole image, the least overlap of
// `min_ious` that a window must have with every box, and any window; then up to 50 windows of at least
// min_crop_size of each side and an aspect ratio of at most 2, until one overlaps so much and holds the
// center of a box. Boxes whose centers it does not hold go, with label and mask. Keys: min_ious ([0.1, 0.3,
// 0.5, 0.7, 0.9]), min_crop_size (0.3), bbox_clip_border (true).
class MinIoURandomCrop final : public Transform {
 public:
  explicit MinIoURandomCrop(const ConfigNode& cfg)
      : min_ious_(cfg.get("min_ious", std::vector<double>{0.1, 0.3, 0.5, 0.7, 0.9}, between(0, 1))),
        min_crop_size_(cfg.get("min_crop_size", 0.3, between(0, 1))),
        bbox_clip_border_(cfg.get("bbox_clip_border", true)) {
    min_ious_.push_back(0);
  }

  bool apply(Sample& sample, CounterRng& rng) const override {
    std::vector<BBox> boxes = sample.gt_bboxes;
    boxes.insert(boxes.end(), sample.gt_bboxes_ignore.begin(), sample.gt_bboxes_ignore.end());
    for (;;) {
      const int64_t mode = rng.randint(static_cast<int64_t>(min_ious_.size()) + 1);
      if (mode == static_cast<int64_t>(min_ious_.size())) return true;  // the whole image
      for (int i = 0; i < kTries; ++i) {
        const std::optional<cv::Rect> window = draw_window(sample.img.size(), rng);
        if (!window || !fits(*window, boxes, min_ious_[mode])) continue;
        cut(sample, *window);
        return true;
      }
    }
  }

 private:
  std::optional<cv::Rect> draw_window(const cv::Size& image, CounterRng& rng) const {
    const double w = rng.uniform(min_crop_size_ * image.width, image.width);
    const double h = rng.uniform(min_crop_size_ * image.height, image.height);
    if (h / w < 0.5 || h / w > 2) return std::nullopt;
    const double x = rng.uniform(0, image.width - w), y = rng.uniform(0, image.height - h);
    const cv::Point first(static_cast<int>(x), static_cast<int>(y));
    const cv::Rect window(first, cv::Point(static_cast<int>(x + w), static_cast<int>(y + h)));
    return window.empty() ? std::nullopt : std::optional(window);
  }

  static bool fits(const cv::Rect& window, const std::vector<BBox>& boxes, double min_iou) {
    if (boxes.empty()) return true;
    return std::all_of(boxes.begin(), boxes.end(),
                       [&](const BBox& box) { return iou(window, box) >= min_iou; }) &&
           std::any_of(boxes.begin(), boxes.end(),
                       [&](const BBox& box) { return holds_center(window, box); });
  }

  void cut(Sample& sample, const cv::Rect& window) const {
    std::vector<bool> keep;
    for (const BBox& box : sample.gt_bboxes) keep.push_back(holds_center(window, box));
    keep_instances(sample, keep);
    std::erase_if(sample.gt_bboxes_ignore, [&](const BBox& box) { return !holds_center(window, box); });
    for (BBox& box : sample.gt_bboxes) box = moved(box, window);
    for (BBox& box : sample.gt_bboxes_ignore) box = moved(box, window);
    for (InstanceMask& mask : sample.gt_masks)
      mask = crop(mask, window.x, window.y, window.x + window.width, window.y + window.height);
    sample.img = sample.img(window).clone();
    sample.meta.img_shape = sample.meta.pad_shape = {window.height, window.width};
    if (!sample.gt_semantic_seg.empty()) sample.gt_semantic_seg = sample.gt_semantic_seg(window).clone();
  }

  BBox moved(BBox box, const cv::Rect& window) const {
    for (int i = 0; i < 4; ++i) {
      box[i] -= static_cast<float>(i % 2 ? window.y : window.x);
      const auto side = static_cast<float>(i % 2 ? window.height : window.width);
      if (bbox_clip_border_) box[i] = std::clamp(box[i], 0.f, side);
    }
    return box;
  }

  std::vector<double> min_ious_;  // and 0: any window
  double min_crop_size_;
  bool bbox_clip_border_;
};

}  // namespace

OSPREY_REGISTER(Transform, MinIoURandomCrop);

}  // namespace osprey
