#include <set>

#include "tests/models/tiny_detector.h"

namespace osprey::testing {
namespace {

std::set<std::string> layers_of(Detector& detector) {
  std::set<std::string> layers;
  for (const auto& [name, parameter] : detector.named_parameters())
    layers.insert(name.substr(0, name.rfind('.')));
  return layers;
}

// fp16.keep_fp32, and the diagnosis of an overflow, may take any layer alone out of half, be it one level's
// of a pyramid: what reads maps of several levels meets several dtypes.
TEST(KeepFp32, OfAnyLayerAloneTrains) {
  for (const std::string name : {"htc", "mask_rcnn", "retinanet"}) {
    const auto detector = make_detector(name);
    const Batch batch = make_batch();
    for (const std::string& layer : layers_of(*detector)) {
      detector->convert_precision(DType::kF16, {layer});
      detector->zero_grad();
      try {
        detector->forward_train(batch).total().backward();
      } catch (const Error& error) {
        ADD_FAILURE() << name << " with " << layer << " in f32: " << error.what();
      }
    }
  }
}

TEST(KeepFp32, NamesSomethingThatIsThere) {
  const auto detector = make_detector("mask_rcnn");
  EXPECT_THROW(detector->convert_precision(DType::kF16, {"neck", "neck.fpn_conv.*"}), UserError);
}

}  // namespace
}  // namespace osprey::testing
