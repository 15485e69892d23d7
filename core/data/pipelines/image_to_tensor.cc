#include "core/data/pipelines/transform.h"

namespace osprey {
namespace {

// DefaultFormatBundle of a test pipeline, for the images that `keys` names: there is one, `img`.
class ImageToTensor final : public Transform {
 public:
  explicit ImageToTensor(const ConfigNode& cfg) {
    for (const std::string& key : cfg.get<std::vector<std::string>>("keys")) {
      if (key != "img") cfg["keys"].fail(str_cat("'", key, "' is no image; allowed: img"));
    }
  }

  bool apply(Sample& sample, CounterRng&) const override {
    if (sample.img.depth() != CV_32F) sample.img.convertTo(sample.img, CV_32F);
    return true;
  }
};

}  // namespace

OSPREY_REGISTER(Transform, ImageToTensor);

}  // namespace osprey
