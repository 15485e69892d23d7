#include <algorithm>
#include <opencv2/imgproc.hpp>

#include "core/data/pipelines/img_scale.h"
#include "core/data/pipelines/transform.h"
#include "core/mask/instance_mask.h"

namespace osprey {
namespace {

enum class ScaleChoice { kFixed, kRange, kValue, kRatio };

// Resizes image (bilinear), boxes, masks and semantic map (nearest). The scale is the one that
// MultiScaleFlipAug chose, else drawn from img_scale: one pair is fixed, `multiscale_mode: range` draws both
// sides between two pairs, `value` draws one pair of the list, `ratio_range` multiplies the one pair.
class Resize final : public Transform {
 public:
  explicit Resize(const ConfigNode& cfg)
      : keep_ratio_(cfg.get("keep_ratio", true)),
        bbox_clip_border_(cfg.get("bbox_clip_border", true)),
        override_(cfg.get("override", false)) {
    cfg.choice("backend", "cv2", {"cv2"});
    const ConfigNode img_scale = cfg.find("img_scale");
    if (!img_scale.is_null()) img_scales_ = read_img_scales(img_scale);
    choice_ = read_choice(cfg);
  }

  bool apply(Sample& sample, CounterRng& rng) const override {
    const cv::Size old_size = sample.img.size();
    const ImgScale scale = choose_scale(sample, rng);
    const ImgScale size = keep_ratio_ ? rescale_size(old_size.width, old_size.height, scale) : scale;
    if (size.w < 1 || size.h < 1) {
      throw SampleError(sample.meta.filename, str_cat(old_size.width, "x", old_size.height,
                                                      " pixels resized to ", size.w, "x", size.h));
    }
    resize_img(sample, size);
    // new/old per axis, not the common factor: rounding makes them differ.
    const float w_scale = static_cast<float>(static_cast<double>(size.w) / old_size.width);
    const float h_scale = static_cast<float>(static_cast<double>(size.h) / old_size.height);
    sample.meta.scale_factor = {w_scale, h_scale, w_scale, h_scale};
    resize_bboxes(sample);
    for (InstanceMask& mask : sample.gt_masks) mask = resize(mask, size.h, size.w);
    resize_seg(sample, size);
    return true;
  }

  void check_keys(SampleKeys& keys, const ConfigNode& cfg) const override {
    Transform::check_keys(keys, cfg);
    if (img_scales_.empty() && (override_ || !keys.count("scale"))) {
      cfg.fail("needs img_scale: there is no MultiScaleFlipAug around it that gives one");
    }
  }

 private:
  ScaleChoice read_choice(const ConfigNode& cfg) {
    const std::string mode = cfg.choice("multiscale_mode", "range", {"range", "value"});
    const ConfigNode ratio = cfg.find("ratio_range");
    if (!ratio.is_null()) {
      const auto range = ratio.as<std::vector<double>>(positive());
      if (range.size() != 2 || range[0] <= 0 || range[1] < range[0]) {
        ratio.fail("must be two factors, 0 < low <= high, e.g. [0.8, 1.2]");
      }
      if (img_scales_.size() != 1) ratio.fail("needs exactly one img_scale");
      ratio_range_ = {range[0], range[1]};
      return ScaleChoice::kRatio;
    }
    if (img_scales_.size() <= 1) return ScaleChoice::kFixed;
    if (mode == "value") return ScaleChoice::kValue;
    if (img_scales_.size() != 2) {
      cfg["img_scale"].fail(str_cat("multiscale_mode 'range' needs two scales, got ", img_scales_.size(),
                                    "; 'value' takes any number"));
    }
    return ScaleChoice::kRange;
  }

  ImgScale choose_scale(const Sample& sample, CounterRng& rng) const {
    if (!override_) {
      if (sample.scale) return *sample.scale;
      if (sample.scale_factor) {
        return {static_cast<int64_t>(sample.img.cols * *sample.scale_factor),
                static_cast<int64_t>(sample.img.rows * *sample.scale_factor)};
      }
    }
    switch (choice_) {
      case ScaleChoice::kFixed:
        break;
      case ScaleChoice::kValue:
        return img_scales_[rng.randint(static_cast<int64_t>(img_scales_.size()))];
      case ScaleChoice::kRange:
        return draw_between(img_scales_[0], img_scales_[1], rng);
      case ScaleChoice::kRatio: {
        const double ratio = rng.uniform(ratio_range_[0], ratio_range_[1]);
        return {static_cast<int64_t>(static_cast<double>(img_scales_[0].w) * ratio),
                static_cast<int64_t>(static_cast<double>(img_scales_[0].h) * ratio)};
      }
    }
    return img_scales_[0];
  }

  // Long and short side independently, both ends included.
  static ImgScale draw_between(const ImgScale& a, const ImgScale& b, CounterRng& rng) {
    const auto draw = [&rng](int64_t one, int64_t other) {
      const auto [low, high] = std::minmax(one, other);
      return low + rng.randint(high - low + 1);
    };
    const int64_t long_side = draw(std::max(a.w, a.h), std::max(b.w, b.h));
    const int64_t short_side = draw(std::min(a.w, a.h), std::min(b.w, b.h));
    return {long_side, short_side};
  }

  static void resize_img(Sample& sample, const ImgScale& size) {
    cv::Mat resized;
    cv::resize(sample.img, resized, cv::Size(static_cast<int>(size.w), static_cast<int>(size.h)), 0, 0,
               cv::INTER_LINEAR);
    sample.img = std::move(resized);
    sample.meta.img_shape = sample.meta.pad_shape = {size.h, size.w};
  }

  void resize_bboxes(Sample& sample) const {
    const auto resize_one = [&](BBox& box) {
      for (int i = 0; i < 4; ++i) {
        box[i] *= sample.meta.scale_factor[i];
        const auto side = static_cast<float>(i % 2 ? sample.meta.img_shape[0] : sample.meta.img_shape[1]);
        if (bbox_clip_border_) box[i] = std::clamp(box[i], 0.f, side);
      }
    };
    for (BBox& box : sample.gt_bboxes) resize_one(box);
    for (BBox& box : sample.gt_bboxes_ignore) resize_one(box);
    drop_vanished(sample);
  }

  // Where rounding leaves nothing of a box, the logarithm of its size would be -inf. Not in mmdetection.
  static void drop_vanished(Sample& sample) {
    std::vector<bool> keep;
    for (const BBox& box : sample.gt_bboxes) keep.push_back(box[2] > box[0] && box[3] > box[1]);
    if (std::count(keep.begin(), keep.end(), false) > 0) keep_instances(sample, keep);
  }

  void resize_seg(Sample& sample, const ImgScale& size) const {
    if (sample.gt_semantic_seg.empty()) return;
    cv::Mat resized;
    cv::resize(sample.gt_semantic_seg, resized, cv::Size(static_cast<int>(size.w), static_cast<int>(size.h)),
               0, 0, cv::INTER_NEAREST);
    sample.gt_semantic_seg = std::move(resized);
  }

  std::vector<ImgScale> img_scales_;
  bool keep_ratio_;
  bool bbox_clip_border_;
  bool override_;
  std::array<double, 2> ratio_range_{1, 1};
  ScaleChoice choice_ = ScaleChoice::kFixed;
};

}  // namespace

OSPREY_REGISTER(Transform, Resize);

}  // namespace osprey
