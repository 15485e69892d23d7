#include <opencv2/core.hpp>

#include "core/data/pipelines/transform.h"

namespace osprey {
namespace {

using Channels = std::array<float, 3>;

Channels read_channels(const ConfigNode& cfg, const std::string& key, const Constraint& constraint) {
  const auto values = cfg.get<std::vector<float>>(key, constraint);
  if (values.size() != 3) cfg[key].fail(str_cat("needs 3 values, one per channel, got ", values.size()));
  return {values[0], values[1], values[2]};
}

// Swaps BGR to RGB (to_rgb), then (x - mean) * (1/std). As OpenCV does for mmcv.imnormalize, the difference
// is rounded to f32, the product taken in f64.
class Normalize final : public Transform {
 public:
  explicit Normalize(const ConfigNode& cfg)
      : mean_(read_channels(cfg, "mean", finite())), to_rgb_(cfg.get("to_rgb", true)) {
    const Channels std = read_channels(cfg, "std", positive());
    for (int c = 0; c < 3; ++c) inverse_std_[c] = 1 / static_cast<double>(std[c]);
  }

  bool apply(Sample& sample, CounterRng&) const override {
    sample.img =
        sample.img.depth() == CV_8U ? normalized<uint8_t>(sample.img) : normalized<float>(sample.img);
    return true;
  }

 private:
  template <typename T>
  cv::Mat normalized(const cv::Mat& img) const {
    cv::Mat out(img.size(), CV_32FC3);
    const int first = to_rgb_ ? 2 : 0;
    for (int y = 0; y < img.rows; ++y) {
      const T* in = img.ptr<T>(y);
      float* row = out.ptr<float>(y);
      for (int x = 0; x < img.cols; ++x, in += 3, row += 3) {
        row[0] = scaled(static_cast<float>(in[first]) - mean_[0], 0);
        row[1] = scaled(static_cast<float>(in[1]) - mean_[1], 1);
        row[2] = scaled(static_cast<float>(in[2 - first]) - mean_[2], 2);
      }
    }
    return out;
  }

  float scaled(float difference, int channel) const {
    return static_cast<float>(difference * inverse_std_[channel]);
  }

  Channels mean_;
  std::array<double, 3> inverse_std_{};
  bool to_rgb_;
};

}  // namespace

OSPREY_REGISTER(Transform, Normalize);

}  // namespace osprey
