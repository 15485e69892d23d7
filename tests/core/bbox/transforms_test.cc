#include "core/bbox/transforms.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/devices.h"
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
  EXPECT_TENSOR_EQ(bbox2roi(numbered(golden, "bbox2roi/in")), golden.tensor("bbox2roi/out0"));
  for (const std::string name : {"bbox2result", "bbox2result_empty"}) {
    const Tensors expected = numbered(golden, name + "/out");
    const Tensors result = bbox2result(golden.tensor(name + "/in0"), golden.tensor(name + "/labels"),
                                       golden.integer(name, "num_classes"));
    ASSERT_EQ(result.size(), expected.size());
    for (size_t i = 0; i < result.size(); ++i) EXPECT_TENSOR_EQ(result[i], expected[i]);
  }
}

TEST(Transforms, FlipAndMappingAgreeWithReference) {
  const Golden golden = Golden::open("ops/bbox_coder");
  for (const std::string& name : golden.cases()) {
    SCOPED_TRACE(name);
    const std::string op = golden.text(name, "op");
    if (op != "bbox_flip" && op != "bbox_mapping" && op != "bbox_mapping_back") continue;
    const Tensor &rois = golden.tensor(name + "/rois"), &boxes = golden.tensor(name + "/boxes");
    const std::vector<int64_t> size = golden.integers(name, "img_shape");
    const std::array<int64_t, 2> shape{size[0], size[1]};
    for (const Device device : testing::devices_in_build()) {
      SCOPED_TRACE(testing::device_name(device));
      const Tensor there = rois.to(device);
      if (op == "bbox_flip") {
        EXPECT_TENSOR_EQ(bbox_flip(there, shape, golden.text(name, "direction")), boxes);
        continue;
      }
      const std::vector<double> s = golden.numbers(name, "scale_factor");
      const std::array<float, 4> scale{static_cast<float>(s[0]), static_cast<float>(s[1]),
                                       static_cast<float>(s[2]), static_cast<float>(s[3])};
      const bool flip = golden.flag(name, "flip");
      const Tensor mapped = op == "bbox_mapping" ? bbox_mapping(there, shape, scale, flip)
                                                 : bbox_mapping_back(there, shape, scale, flip);
      EXPECT_TENSOR_NEAR(mapped, boxes, 1e-5, 1e-6);
    }
  }
}

TEST(Transforms, RowsThatAreNotFiniteBecomeZerosAndNaN) {
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  const Tensor boxes = Tensor::from<float>({1, 2, 3, 4, 1, nan, 3, 4, 5, 6, 7, 8, 0, 0, -inf, 9}, {4, 4});
  for (const Device device : testing::devices_in_build()) {
    Tensor penalty = Tensor::zeros({}, DType::kF32, device);
    const Tensor good = boxes.slice(0, 1).to(device);
    EXPECT_TENSOR_EQ(zero_nonfinite_rows(good, penalty), good);
    EXPECT_EQ(penalty.item(), 0);
    EXPECT_TENSOR_EQ(zero_nonfinite_rows(boxes.to(device), penalty),
                     Tensor::from<float>({1, 2, 3, 4, 0, 0, 0, 0, 5, 6, 7, 8, 0, 0, 0, 0}, {4, 4}));
    EXPECT_TRUE(std::isnan(penalty.item()));
  }
}

TEST(Transforms, RoIsGoToTheLevelOfTheirSize) {
  const float nan = std::nanf("");
  // 56 pixels and more belong to level 1, 112 to level 2, 224 to level 3 with a finest scale of 56.
  const Tensor rois = Tensor::from<float>({0, 0, 0, 10,  10,  0, 0,   0, 112, 112, 1, 5, 5, 230, 230,
                                           0, 0, 0, 900, 900, 0, nan, 0, 9,   9,   0, 0, 0, 0,   0},
                                          {6, 5});
  for (const Device device : testing::devices_in_build()) {
    EXPECT_TENSOR_EQ(map_roi_levels(rois.to(device), 56, 4),
                     (Tensor::from<int64_t>({0, 1, 2, 3, 0, 0}, {6})));
  }
}

TEST(Transforms, ColumnsBehindTheBoxAreDropped) {
  const Tensor dets = testing::uniform({7, 5}, 0, 100, 3);
  for (const Device device : testing::devices_in_build()) {
    const Tensor bare = first_four(dets.to(device)).to(kCPU);
    ASSERT_EQ(bare.shape(), (Shape{7, 4}));
    for (int64_t i = 0; i < 7; ++i) {
      EXPECT_TENSOR_EQ(bare[i], dets[i].slice(0, 4));
    }
  }
}

TEST(Transforms, RefuseWhatTheyCannotMean) {
  const Tensor box({1, 4}, DType::kF32);
  EXPECT_THROW(bbox_flip(box, {10, 10}, "sideways"), Error);
  EXPECT_THROW(bbox2result(box, Tensor::full({1}, 3, DType::kI64), 3), Error);
}

}  // namespace
}  // namespace osprey
