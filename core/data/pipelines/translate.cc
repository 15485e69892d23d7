#include "core/data/pipelines/geometric_transform.h"

namespace osprey {
namespace {

// Moves by level / 10 * max_translate_offset (250) whole pixels to the right or, with direction: vertical,
// down. min_size (0): what is not larger in both directions goes.
class Translate final : public GeometricTransform {
 public:
  explicit Translate(const ConfigNode& cfg)
      : GeometricTransform(cfg),
        horizontal_(cfg.choice("direction", "horizontal", {"horizontal", "vertical"}) == "horizontal"),
        offset_(static_cast<int64_t>(level() * cfg.get("max_translate_offset", 250.0, non_negative()))) {
    min_size_ = cfg.get("min_size", 0.0, non_negative());
  }

 private:
  cv::Matx23d forward(const cv::Size&, double sign) const override {
    const double offset = sign * static_cast<double>(offset_);
    return {1, 0, horizontal_ ? offset : 0, 0, 1, horizontal_ ? 0 : offset};
  }

  bool horizontal_;
  int64_t offset_;
};

}  // namespace

OSPREY_REGISTER(Transform, Translate);

}  // namespace osprey
