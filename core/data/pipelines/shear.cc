#include <opencv2/imgproc.hpp>

#include "core/data/pipelines/geometric_transform.h"

namespace osprey {
namespace {

// Shifts rows (direction: horizontal) or columns (vertical) in proportion to their place: x + m y with
// m = level / 10 * max_shear_magnitude (0.3). Key beside these and GeometricTransform's: interpolation.
class Shear final : public GeometricTransform {
 public:
  explicit Shear(const ConfigNode& cfg)
      : GeometricTransform(cfg),
        horizontal_(cfg.choice("direction", "horizontal", {"horizontal", "vertical"}) == "horizontal"),
        magnitude_(level() * cfg.get("max_shear_magnitude", 0.3, between(0, 1))) {
    if (cfg.choice("interpolation", "bilinear", {"bilinear", "nearest"}) == "nearest")
      interpolation_ = cv::INTER_NEAREST;
  }

 private:
  cv::Matx23d forward(const cv::Size&, double sign) const override {
    const auto m = static_cast<float>(sign * magnitude_);  // as mmcv: an outline may touch a pixel's centre
    return horizontal_ ? cv::Matx23d{1, m, 0, 0, 1, 0} : cv::Matx23d{1, 0, 0, m, 1, 0};
  }

  bool horizontal_;
  double magnitude_;
};

}  // namespace

OSPREY_REGISTER(Transform, Shear);

}  // namespace osprey
