#include <algorithm>
#include <opencv2/core.hpp>

#include "core/data/pipelines/img_scale.h"
#include "core/data/pipelines/transform.h"
#include "core/mask/instance_mask.h"

namespace osprey {
namespace {

// Cuts a random window of crop_size [h, w] out of everything. Boxes are shifted and, with bbox_clip_border,
// clipped; those that keep no area go, with label and mask. A window without any box rejects the sample
// unless allow_negative_crop; one that never had a box passes. crop_type: absolute (pixels, at most the
// image), absolute_range (h and w drawn between the two numbers), relative (shares of the image),
// relative_range (shares drawn between crop_size and 1).
class RandomCrop final : public Transform {
 public:
  explicit RandomCrop(const ConfigNode& cfg)
      : crop_size_(cfg.get<std::vector<double>>("crop_size", positive())),
        crop_type_(cfg.choice("crop_type", "absolute",
                              {"absolute", "absolute_range", "relative", "relative_range"})),
        allow_negative_crop_(cfg.get("allow_negative_crop", false)),
        bbox_clip_border_(cfg.get("bbox_clip_border", true)) {
    const ConfigNode node = cfg["crop_size"];
    if (crop_size_.size() != 2 || crop_size_[0] <= 0 || crop_size_[1] <= 0)
      node.fail("must be two positive numbers");
    const bool relative = crop_type_ == "relative" || crop_type_ == "relative_range";
    if (relative && (crop_size_[0] > 1 || crop_size_[1] > 1)) node.fail("shares of the image must be <= 1");
    if (!relative && (crop_size_[0] < 1 || crop_size_[1] < 1)) node.fail("must be whole pixels");
    if (crop_type_ == "absolute_range" && crop_size_[0] > crop_size_[1]) node.fail("must be [low, high]");
  }

  bool apply(Sample& sample, CounterRng& rng) const override {
    const cv::Size image = sample.img.size();
    const cv::Size window = window_size(image, rng);
    const auto x = static_cast<int>(rng.randint(image.width - window.width + 1));
    const auto y = static_cast<int>(rng.randint(image.height - window.height + 1));
    const cv::Rect rect(x, y, window.width, window.height);
    const bool had_boxes = !sample.gt_bboxes.empty();
    shift(sample.gt_bboxes, rect);
    shift(sample.gt_bboxes_ignore, rect);
    drop_outside(sample);
    if (had_boxes && sample.gt_bboxes.empty() && !allow_negative_crop_) return false;
    sample.img = sample.img(rect).clone();
    sample.meta.img_shape = sample.meta.pad_shape = {rect.height, rect.width};
    for (InstanceMask& mask : sample.gt_masks) mask = crop(mask, x, y, x + rect.width, y + rect.height);
    if (!sample.gt_semantic_seg.empty()) sample.gt_semantic_seg = sample.gt_semantic_seg(rect).clone();
    return true;
  }

 private:
  cv::Size window_size(const cv::Size& image, CounterRng& rng) const {
    const double a = crop_size_[0], b = crop_size_[1];
    if (crop_type_ == "absolute") {
      return {std::min(static_cast<int>(b), image.width), std::min(static_cast<int>(a), image.height)};
    }
    if (crop_type_ == "absolute_range") {
      const auto draw = [&](int side) {
        const int low = std::min(static_cast<int>(a), side), high = std::min(static_cast<int>(b), side);
        return low + static_cast<int>(rng.randint(high - low + 1));
      };
      const int h = draw(image.height);
      return {draw(image.width), h};
    }
    const bool range = crop_type_ == "relative_range";
    const double share_h = range ? rng.uniform(a, 1) : a;
    const double share_w = range ? rng.uniform(b, 1) : b;
    return {std::max(1, static_cast<int>(image.width * share_w + 0.5)),
            std::max(1, static_cast<int>(image.height * share_h + 0.5))};
  }

  void shift(std::vector<BBox>& boxes, const cv::Rect& rect) const {
    for (BBox& box : boxes) {
      for (int i = 0; i < 4; ++i) {
        box[i] -= static_cast<float>(i % 2 ? rect.y : rect.x);
        if (bbox_clip_border_)
          box[i] = std::clamp(box[i], 0.f, static_cast<float>(i % 2 ? rect.height : rect.width));
      }
    }
  }

  static void drop_outside(Sample& sample) {
    const auto has_area = [](const BBox& box) { return box[2] > box[0] && box[3] > box[1]; };
    std::vector<bool> keep;
    for (const BBox& box : sample.gt_bboxes) keep.push_back(has_area(box));
    keep_instances(sample, keep);
    std::erase_if(sample.gt_bboxes_ignore, [&](const BBox& box) { return !has_area(box); });
  }

  std::vector<double> crop_size_;  // h, w; or low, high
  std::string crop_type_;
  bool allow_negative_crop_;
  bool bbox_clip_border_;
};

}  // namespace

OSPREY_REGISTER(Transform, RandomCrop);

}  // namespace osprey
