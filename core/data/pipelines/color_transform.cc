#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "core/data/pipelines/enhance.h"
#include "core/data/pipelines/transform.h"

namespace osprey {
namespace {

// More or less colour: the image mixed with its grey version. Keys: level (0 to 10), prob (0.5).
class ColorTransform final : public Transform {
 public:
  explicit ColorTransform(const ConfigNode& cfg)
      : factor_(read_enhancement(cfg)), prob_(cfg.get("prob", 0.5, between(0, 1))) {}

  bool apply(Sample& sample, CounterRng& rng) const override {
    if (rng.uniform() >= prob_) return true;
    cv::Mat grey, mixed;
    cv::cvtColor(sample.img, grey, cv::COLOR_BGR2GRAY);
    cv::cvtColor(grey, grey, cv::COLOR_GRAY2BGR);
    cv::addWeighted(sample.img, factor_, grey, 1 - factor_, 0, mixed);
    if (mixed.depth() != CV_8U) mixed = cv::min(cv::max(mixed, 0.0), 255.0);
    sample.img = mixed;
    return true;
  }

 private:
  double factor_, prob_;
};

}  // namespace

OSPREY_REGISTER(Transform, ColorTransform);

}  // namespace osprey
