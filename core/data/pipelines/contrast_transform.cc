#include <cmath>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "core/data/pipelines/enhance.h"
#include "core/data/pipelines/transform.h"

namespace osprey {
namespace {

// More or less contrast: the image mixed with its mean grey, a whole number. Keys: level (0 to 10), prob
// (0.5).
class ContrastTransform final : public Transform {
 public:
  explicit ContrastTransform(const ConfigNode& cfg)
      : factor_(read_enhancement(cfg)), prob_(cfg.get("prob", 0.5, between(0, 1))) {}

  bool apply(Sample& sample, CounterRng& rng) const override {
    if (rng.uniform() >= prob_) return true;
    cv::Mat grey;
    cv::cvtColor(sample.img, grey, cv::COLOR_BGR2GRAY);
    const double mean = std::nearbyint(cv::mean(grey)[0]);  // half to even, as Python
    sample.img =
        blend(sample.img, cv::Mat(sample.img.size(), sample.img.type(), cv::Scalar::all(mean)), factor_);
    return true;
  }

 private:
  double factor_, prob_;
};

}  // namespace

OSPREY_REGISTER(Transform, ContrastTransform);

}  // namespace osprey
