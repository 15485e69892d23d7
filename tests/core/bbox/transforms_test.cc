#include "core/bbox/transforms.h"

#include <gtest/gtest.h>

#include "tests/golden.h"

namespace osprey {
namespace {

using testing::Golden;

Tensors numbered(const Golden& golden, const std::string& prefix) {
  Tensors tensors;
  while (golden.has(prefix + std::to_string(tensors.size()))) {
    tensors.push_back(golden.tensor(prefix + std::to_string(tensors.size())));
  }
  return tensors;
}

TEST(Transforms, BBox2RoIAndBBox2ResultAgreeWithReference) {
  const Golden golden = Golden::open("ops/bbox_coder");
  for (const std::string& name : golden.cases("op", {"bbox2roi"})) {
    EXPECT_TENSOR_EQ(bbox2roi(numbered(golden, name + "/in")), golden.tensor(name + "/out0"));
  }
  for (const std::string& name : golden.cases("op", {"bbox2result"})) {
    const Tensors expected = numbered(golden, name + "/out");
    const Tensors result = bbox2result(golden.tensor(name + "/in0"), golden.tensor(name + "/labels"),
                                       golden.integer(name, "num_classes"));
    ASSERT_EQ(result.size(), expected.size());
    for (size_t i = 0; i < result.size(); ++i) EXPECT_TENSOR_EQ(result[i], expected[i]);
  }
}

TEST(Transforms, FlipAndMappingAgreeWithReference) {
  const Golden golden = Golden::open("ops/bbox_coder");
  for (const std::string& name : golden.cases("op", {"bbox_flip", "bbox_mapping", "bbox_mapping_back"})) {
    SCOPED_TRACE(name);
    const std::string op = golden.text(name, "op");
    const Tensor &rois = golden.tensor(name + "/rois"), &boxes = golden.tensor(name + "/boxes");
    const std::vector<int64_t> size = golden.integers(name, "img_shape");
    const std::array<int64_t, 2> shape{size[0], size[1]};
    if (op == "bbox_flip") {
      EXPECT_TENSOR_EQ(bbox_flip(rois, shape, golden.text(name, "direction")), boxes);
      continue;
    }
    const std::vector<double> s = golden.numbers(name, "scale_factor");
    const std::array<float, 4> scale{static_cast<float>(s[0]), static_cast<float>(s[1]),
                                     static_cast<float>(s[2]), static_cast<float>(s[3])};
    const bool flip = golden.flag(name, "flip");
    const Tensor mapped = op == "bbox_mapping" ? bbox_mapping(rois, shape, scale, flip)
                                               : bbox_mapping_back(rois, shape, scale, flip);
    EXPECT_TENSOR_NEAR(mapped, boxes, 1e-5, 1e-6);
  }
}

TEST(Transforms, RefuseWhatTheyCannotMean) {
  const Tensor box({1, 4}, DType::kF32);
  EXPECT_THROW(bbox_flip(box, {10, 10}, "sideways"), Error);
  EXPECT_THROW(bbox2result(box, Tensor::full({1}, 3, DType::kI64), 3), Error);
}

}  // namespace
}  // namespace osprey
