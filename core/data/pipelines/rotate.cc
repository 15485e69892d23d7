#include <opencv2/imgproc.hpp>
#include <optional>

#include "core/data/pipelines/geometric_transform.h"

namespace osprey {
namespace {

// Turns clockwise by level / 10 * max_rotate_angle (30) degrees around `center` (a number, or [x, y];
// default: of the image) and scales by `scale` (1).
class Rotate final : public GeometricTransform {
 public:
  explicit Rotate(const ConfigNode& cfg)
      : GeometricTransform(cfg),
        angle_(level() * cfg.get("max_rotate_angle", 30.0, finite())),
        scale_(cfg.get("scale", 1.0, positive())) {
    const ConfigNode center = cfg.find("center");
    if (center.is_null()) return;
    const auto point = center.is_list() ? center.as<std::vector<double>>(finite())
                                        : std::vector<double>(2, center.as<double>(finite()));
    if (point.size() != 2) center.fail("must be a number or [x, y]");
    center_ = {static_cast<float>(point[0]), static_cast<float>(point[1])};
  }

 private:
  cv::Matx23d forward(const cv::Size& image, double sign) const override {
    const cv::Point2f middle(static_cast<float>(image.width - 1) / 2,
                             static_cast<float>(image.height - 1) / 2);
    return cv::getRotationMatrix2D_(center_.value_or(middle), -sign * angle_, scale_);
  }

  double angle_, scale_;
  std::optional<cv::Point2f> center_;
};

}  // namespace

OSPREY_REGISTER(Transform, Rotate);

}  // namespace osprey
