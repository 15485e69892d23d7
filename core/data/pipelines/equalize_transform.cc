#include <algorithm>
#include <array>
#include <opencv2/core.hpp>

#include "core/data/pipelines/transform.h"

namespace osprey {
namespace {

using Levels = std::array<int64_t, 256>;

// Spreads the values of a channel evenly, as PIL's ImageOps.equalize and mmcv do. One that is (nearly) of one
// value stays.
Levels equalizing(const Levels& histogram) {
  int64_t total = 0, last = 0;
  for (const int64_t count : histogram) {
    total += count;
    if (count > 0) last = count;
  }
  Levels table{};
  const int64_t step = (total - last) / 255;
  int64_t below = 0;
  for (size_t value = 0; value < table.size(); ++value) {
    table[value] = step == 0    ? static_cast<int64_t>(value)
                   : value == 0 ? 0
                                : std::min<int64_t>((below + step / 2) / step, 255);
    below += histogram[value];
  }
  return table;
}

// Equalises the histogram of each channel. Key: prob (0.5). Takes 8-bit images.
class EqualizeTransform final : public Transform {
 public:
  explicit EqualizeTransform(const ConfigNode& cfg) : prob_(cfg.get("prob", 0.5, between(0, 1))) {}

  bool apply(Sample& sample, CounterRng& rng) const override {
    if (sample.img.depth() != CV_8U)
      throw UserError(
          "EqualizeTransform: needs 8-bit images; put it before what makes floats of them (to_float32, "
          "PhotoMetricDistortion, Normalize): " +
          sample.meta.filename);
    if (rng.uniform() >= prob_) return true;
    cv::Mat& img = sample.img;
    for (int channel = 0; channel < 3; ++channel) {
      Levels histogram{};
      for_each(img, channel, [&](uint8_t& value) { ++histogram[value]; });
      const Levels table = equalizing(histogram);
      for_each(img, channel, [&](uint8_t& value) { value = static_cast<uint8_t>(table[value]); });
    }
    return true;
  }

 private:
  template <typename Visit>
  static void for_each(cv::Mat& img, int channel, const Visit& visit) {
    for (int y = 0; y < img.rows; ++y) {
      uint8_t* row = img.ptr<uint8_t>(y);
      for (int x = 0; x < img.cols; ++x) visit(row[3 * x + channel]);
    }
  }

  double prob_;
};

}  // namespace

OSPREY_REGISTER(Transform, EqualizeTransform);

}  // namespace osprey
