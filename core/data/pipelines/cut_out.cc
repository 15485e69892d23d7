#include <algorithm>
#include <opencv2/core.hpp>

#include "core/data/pipelines/transform.h"

namespace osprey {
namespace {

// Blanks n_holes (a number, or [low, high]) rectangles whose upper left corners lie anywhere (DeVries &
// Taylor, "Improved Regularization with Cutout", 2017). Their size is drawn from cutout_shape ([w, h] pixels,
// or a list of such) or cutout_ratio (shares of the image). fill_in: [0, 0, 0], in the image's own channel
// order. Boxes and masks stay.
class CutOut final : public Transform {
 public:
  explicit CutOut(const ConfigNode& cfg) : with_ratio_(!cfg.find("cutout_ratio").is_null()) {
    if (with_ratio_ == !cfg.find("cutout_shape").is_null())
      cfg.fail("needs exactly one of cutout_shape and cutout_ratio");
    const ConfigNode holes = cfg["n_holes"];
    const auto range = holes.is_list() ? holes.as<std::vector<int64_t>>(non_negative())
                                       : std::vector<int64_t>(2, holes.as<int64_t>(non_negative()));
    if (range.size() != 2 || range[1] < range[0]) holes.fail("must be a number, or [low, high]");
    low_ = range[0];
    high_ = range[1];
    const ConfigNode sizes = cfg[with_ratio_ ? "cutout_ratio" : "cutout_shape"];
    if (sizes.is_list() && sizes.size() > 0 && sizes.at(0).is_list()) {
      for (const ConfigNode& size : sizes.items()) sizes_.push_back(read_size(size));
    } else {
      sizes_.push_back(read_size(sizes));
    }
    const auto fill = cfg.get("fill_in", std::vector<double>{0, 0, 0}, finite());
    if (fill.size() != 3) cfg["fill_in"].fail(str_cat("needs 3 values, one per channel, got ", fill.size()));
    fill_in_ = {fill[0], fill[1], fill[2]};
  }

  bool apply(Sample& sample, CounterRng& rng) const override {
    const cv::Rect image({0, 0}, sample.img.size());
    const int64_t holes = low_ + rng.randint(high_ - low_ + 1);
    for (int64_t i = 0; i < holes; ++i) {
      const auto x = static_cast<int>(rng.randint(image.width)),
                 y = static_cast<int>(rng.randint(image.height));
      const auto [w, h] = sizes_[rng.randint(static_cast<int64_t>(sizes_.size()))];
      const cv::Size size(static_cast<int>(with_ratio_ ? w * image.width : w),
                          static_cast<int>(with_ratio_ ? h * image.height : h));
      sample.img(cv::Rect({x, y}, size) & image).setTo(fill_in_);
    }
    return true;
  }

 private:
  std::array<double, 2> read_size(const ConfigNode& node) const {
    const auto size = node.as<std::vector<double>>(with_ratio_ ? between(0, 1) : non_negative());
    if (size.size() != 2) node.fail("must be [width, height]");
    return {size[0], size[1]};
  }

  bool with_ratio_;
  int64_t low_ = 0, high_ = 0;
  std::vector<std::array<double, 2>> sizes_;  // w, h
  cv::Scalar fill_in_;
};

}  // namespace

OSPREY_REGISTER(Transform, CutOut);

}  // namespace osprey
