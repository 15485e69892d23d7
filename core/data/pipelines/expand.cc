#include <algorithm>
#include <opencv2/core.hpp>

#include "core/data/pipelines/transform.h"
#include "core/mask/instance_mask.h"

namespace osprey {
namespace {

// Puts the image somewhere on a canvas `ratio` times as large, as SSD does (Liu et al. 2016, section 3.6).
// Keys: mean ([0, 0, 0], the canvas; RGB with to_rgb (true), else BGR), ratio_range ([1, 4]),
// seg_ignore_label (255), prob (0.5).
class Expand final : public Transform {
 public:
  explicit Expand(const ConfigNode& cfg)
      : seg_ignore_label_(cfg.get("seg_ignore_label", 255.0, between(0, 255))),
        prob_(cfg.get("prob", 0.5, between(0, 1))) {
    auto mean = cfg.get("mean", std::vector<double>{0, 0, 0}, finite());
    if (mean.size() != 3) cfg["mean"].fail(str_cat("needs 3 values, one per channel, got ", mean.size()));
    if (cfg.get("to_rgb", true)) std::reverse(mean.begin(), mean.end());
    mean_ = {mean[0], mean[1], mean[2]};
    const auto range = cfg.get("ratio_range", std::vector<double>{1, 4}, at_least(1));
    if (range.size() != 2 || range[1] < range[0])
      cfg["ratio_range"].fail("must be two factors, 1 <= low <= high");
    ratio_range_ = {range[0], range[1]};
  }

  bool apply(Sample& sample, CounterRng& rng) const override {
    if (rng.uniform() >= prob_) return true;
    const double ratio = rng.uniform(ratio_range_[0], ratio_range_[1]);
    const cv::Size old = sample.img.size();
    const cv::Size canvas(static_cast<int>(old.width * ratio), static_cast<int>(old.height * ratio));
    const auto left = static_cast<int>(rng.uniform(0, old.width * (ratio - 1)));
    const auto top = static_cast<int>(rng.uniform(0, old.height * (ratio - 1)));
    const cv::Rect place(std::min(left, canvas.width - old.width), std::min(top, canvas.height - old.height),
                         old.width, old.height);
    sample.img = put(sample.img, canvas, place, mean_);
    sample.meta.img_shape = sample.meta.pad_shape = {canvas.height, canvas.width};
    for (InstanceMask& mask : sample.gt_masks)
      mask = osprey::expand(mask, canvas.height, canvas.width, place.y, place.x);
    if (!sample.gt_semantic_seg.empty())
      sample.gt_semantic_seg = put(sample.gt_semantic_seg, canvas, place, cv::Scalar::all(seg_ignore_label_));
    shift(sample.gt_bboxes, place);
    shift(sample.gt_bboxes_ignore, place);
    return true;
  }

 private:
  static cv::Mat put(const cv::Mat& map, const cv::Size& canvas, const cv::Rect& place,
                     const cv::Scalar& fill) {
    cv::Mat out(canvas, map.type(), fill);
    map.copyTo(out(place));
    return out;
  }
  static void shift(std::vector<BBox>& boxes, const cv::Rect& place) {
    for (BBox& box : boxes) {
      for (int i = 0; i < 4; ++i) box[i] += static_cast<float>(i % 2 ? place.y : place.x);
    }
  }

  cv::Scalar mean_;  // in the image's channel order
  std::array<double, 2> ratio_range_{};
  double seg_ignore_label_, prob_;
};

}  // namespace

OSPREY_REGISTER(Transform, Expand);

}  // namespace osprey
