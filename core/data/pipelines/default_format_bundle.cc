#include "core/data/pipelines/transform.h"

namespace osprey {
namespace {

// In mmdetection this turns arrays into tensors; here collate() does, and what remains is that an image
// nobody normalised becomes f32.
class DefaultFormatBundle final : public Transform {
 public:
  explicit DefaultFormatBundle(const ConfigNode&) {}

  bool apply(Sample& sample, CounterRng&) const override {
    if (sample.img.depth() != CV_32F) sample.img.convertTo(sample.img, CV_32F);
    return true;
  }
};

}  // namespace

OSPREY_REGISTER(Transform, DefaultFormatBundle);

}  // namespace osprey
