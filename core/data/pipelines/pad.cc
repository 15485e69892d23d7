#include <opencv2/core.hpp>

#include "core/data/pipelines/img_scale.h"
#include "core/data/pipelines/transform.h"
#include "core/mask/instance_mask.h"

namespace osprey {
namespace {

cv::Mat padded(const cv::Mat& map, int64_t h, int64_t w, double value) {
  cv::Mat out;
  cv::copyMakeBorder(map, out, 0, static_cast<int>(h) - map.rows, 0, static_cast<int>(w) - map.cols,
                     cv::BORDER_CONSTANT, cv::Scalar::all(value));
  return out;
}

// Pads at the right and at the bottom, to a fixed size ([h, w]) or to the next multiple of size_divisor.
// pad_val is a number for the image or {img: 0, seg: 255}. mmdetection 2.11 pads the semantic map with 0, a
// real class; here, as in later versions, with 255, which the loss ignores.
class Pad final : public Transform {
 public:
  explicit Pad(const ConfigNode& cfg) : size_divisor_(cfg.get("size_divisor", int64_t{0}, non_negative())) {
    const ConfigNode size = cfg.find("size");
    if (!size.is_null()) {
      const ImgScale pair = read_img_scales(size)[0];
      size_ = {pair.w, pair.h};  // written h, w
    }
    if (size.is_null() == (size_divisor_ == 0)) cfg.fail("needs exactly one of size and size_divisor");
    read_pad_val(cfg);
  }

  bool apply(Sample& sample, CounterRng&) const override {
    const auto [h, w] = target_shape(sample);
    sample.img = padded(sample.img, h, w, img_value_);
    sample.meta.pad_shape = {h, w};
    for (InstanceMask& mask : sample.gt_masks) mask = pad(mask, h, w);
    if (!sample.gt_semantic_seg.empty())
      sample.gt_semantic_seg = padded(sample.gt_semantic_seg, h, w, seg_value_);
    return true;
  }

 private:
  void read_pad_val(const ConfigNode& cfg) {
    const ConfigNode value = cfg.find("pad_val");
    if (value.is_map()) {
      img_value_ = value.get("img", 0.0, finite());
      seg_value_ = value.get("seg", 255.0, between(0, 255));
      if (value.get("masks", 0.0) != 0) value["masks"].fail("masks can be padded with 0 only");
    } else {
      img_value_ = cfg.get("pad_val", 0.0, finite());
    }
  }

  std::array<int64_t, 2> target_shape(const Sample& sample) const {
    const int64_t h = sample.img.rows, w = sample.img.cols;
    if (size_divisor_ > 0) {
      return {(h + size_divisor_ - 1) / size_divisor_ * size_divisor_,
              (w + size_divisor_ - 1) / size_divisor_ * size_divisor_};
    }
    if (h > size_[0] || w > size_[1]) {
      throw UserError(str_cat("Pad: size [", size_[0], ", ", size_[1], "] (h, w) is smaller than the image, ",
                              h, "x", w, " after resizing: ", sample.meta.filename));
    }
    return size_;
  }

  int64_t size_divisor_;
  std::array<int64_t, 2> size_{};  // h, w
  double img_value_ = 0;
  double seg_value_ = 255;
};

}  // namespace

OSPREY_REGISTER(Transform, Pad);

}  // namespace osprey
