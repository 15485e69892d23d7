#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "core/data/pipelines/transform.h"

namespace osprey {
namespace {

using Range = std::array<double, 2>;

Range read_range(const ConfigNode& cfg, const std::string& key) {
  const auto range = cfg.get(key, std::vector<double>{0.5, 1.5}, non_negative());
  if (range.size() != 2 || range[1] < range[0]) cfg[key].fail("must be two factors, [low, high]");
  return {range[0], range[1]};
}

// Turns hue by `degrees` and multiplies saturation, in place.
void distort_hsv(cv::Mat& img, double saturation, double degrees) {
  cv::cvtColor(img, img, cv::COLOR_BGR2HSV);
  for (int y = 0; y < img.rows; ++y) {
    auto* row = img.ptr<cv::Vec3f>(y);
    for (int x = 0; x < img.cols; ++x) {
      row[x][1] *= static_cast<float>(saturation);
      float& hue = row[x][0];
      hue += static_cast<float>(degrees);
      if (hue > 360) hue -= 360;
      if (hue < 0) hue += 360;
    }
  }
  cv::cvtColor(img, img, cv::COLOR_HSV2BGR);
}

// The colour distortion of SSD (Liu et al. 2016, section 2.2): each with probability 1/2, brightness,
// contrast, (in HSV) saturation and hue, and a permutation of the channels; contrast comes either second or
// second to last. The result is f32, as mmdetection asks of the input. Keys: brightness_delta (32),
// contrast_range ([0.5, 1.5]), saturation_range ([0.5, 1.5]), hue_delta (18 degrees).
class PhotoMetricDistortion final : public Transform {
 public:
  explicit PhotoMetricDistortion(const ConfigNode& cfg)
      : brightness_delta_(cfg.get("brightness_delta", 32.0, non_negative())),
        contrast_range_(read_range(cfg, "contrast_range")),
        saturation_range_(read_range(cfg, "saturation_range")),
        hue_delta_(cfg.get("hue_delta", 18.0, between(0, 360))) {}

  bool apply(Sample& sample, CounterRng& rng) const override {
    const auto coin = [&] { return rng.randint(2) == 1; };
    const auto draw = [&](const Range& range) { return rng.uniform(range[0], range[1]); };
    cv::Mat img;
    sample.img.convertTo(img, CV_32F);
    if (coin()) img += cv::Scalar::all(rng.uniform(-brightness_delta_, brightness_delta_));
    const bool contrast_first = coin();
    if (contrast_first && coin()) img *= draw(contrast_range_);
    const double saturation = coin() ? draw(saturation_range_) : 1;
    distort_hsv(img, saturation, coin() ? rng.uniform(-hue_delta_, hue_delta_) : 0);
    if (!contrast_first && coin()) img *= draw(contrast_range_);
    if (coin()) permute(img, rng.permutation(3));
    sample.img = img;
    return true;
  }

 private:
  static void permute(cv::Mat& img, const std::vector<int64_t>& order) {
    const auto from = [&](int channel) { return static_cast<int>(order[static_cast<size_t>(channel)]); };
    cv::Mat permuted(img.size(), img.type());
    cv::mixChannels({img}, {permuted}, {from(0), 0, from(1), 1, from(2), 2});
    img = permuted;
  }

  double brightness_delta_;
  Range contrast_range_, saturation_range_;
  double hue_delta_;
};

}  // namespace

OSPREY_REGISTER(Transform, PhotoMetricDistortion);

}  // namespace osprey
