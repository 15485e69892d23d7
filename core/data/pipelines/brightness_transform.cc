#include "core/data/pipelines/enhance.h"
#include "core/data/pipelines/transform.h"

namespace osprey {
namespace {

// Brighter or darker: the image mixed with black. Keys: level (0 to 10), prob (0.5).
class BrightnessTransform final : public Transform {
 public:
  explicit BrightnessTransform(const ConfigNode& cfg)
      : factor_(read_enhancement(cfg)), prob_(cfg.get("prob", 0.5, between(0, 1))) {}

  bool apply(Sample& sample, CounterRng& rng) const override {
    if (rng.uniform() < prob_)
      sample.img = blend(sample.img, cv::Mat::zeros(sample.img.size(), sample.img.type()), factor_);
    return true;
  }

 private:
  double factor_, prob_;
};

}  // namespace

OSPREY_REGISTER(Transform, BrightnessTransform);

}  // namespace osprey
