#include "core/bbox/bbox_overlaps.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tests/golden.h"

namespace osprey {
namespace {

using testing::Golden;

OverlapMode mode_of(const std::string& name) {
  const std::map<std::string, OverlapMode> modes{
      {"iou", OverlapMode::kIoU}, {"iof", OverlapMode::kIoF}, {"giou", OverlapMode::kGIoU}};
  return modes.at(name);
}

TEST(BBoxOverlaps, AgreesWithReference) {
  const Golden golden = Golden::open("ops/bbox_overlaps");
  for (const std::string& name : golden.cases()) {
    SCOPED_TRACE(name);
    const Tensor &a = golden.tensor(name + "/a"), &b = golden.tensor(name + "/b");
    const Tensor& expected = golden.tensor(name + "/overlaps");
    const OverlapMode mode = mode_of(golden.text(name, "mode"));
    const bool aligned = golden.flag(name, "is_aligned");
    if (a.rank() == 2) {
      EXPECT_TENSOR_NEAR(bbox_overlaps(a, b, mode, aligned), expected, 1e-7, 1e-6);
    }
    for (int64_t i = 0; a.rank() == 3 && i < a.dim(0); ++i) {
      EXPECT_TENSOR_NEAR(bbox_overlaps(a[i], b[i], mode, aligned), expected[i], 1e-7, 1e-6);
    }
  }
}

Tensor random_boxes(int64_t n, uint64_t seed) {
  Tensor boxes = testing::uniform({n, 4}, 0, 100, seed);
  float* box = boxes.mutable_data<float>();
  for (int64_t i = 0; i < n; ++i, box += 4) {
    box[2] = box[0] + box[2] / 3;
    box[3] = box[1] + box[3] / 3;
  }
  return boxes;
}

TEST(BBoxOverlaps, DoesNotDependOnHowTheWorkIsCut) {
  const Tensor a = random_boxes(5, 1), b = random_boxes(10007, 2);
  const Tensor all = bbox_overlaps(a, b);
  for (const int64_t begin : {int64_t{0}, int64_t{4093}, int64_t{9999}}) {
    const Tensor part = bbox_overlaps(a, b.slice(begin, begin + 8));
    for (int64_t i = 0; i < 5; ++i) EXPECT_TRUE(bitwise_equal(part[i], all[i].slice(begin, begin + 8)));
  }
}

TEST(BBoxOverlaps, NaNOnEitherSideGivesNaNThereOnly) {
  Tensor boxes = random_boxes(20, 3);
  boxes.mutable_data<float>()[4 * 7 + 2] = std::nanf("");
  const Tensor others = random_boxes(3, 4);
  for (const OverlapMode mode : {OverlapMode::kIoU, OverlapMode::kIoF, OverlapMode::kGIoU}) {
    const std::vector<double> left = bbox_overlaps(boxes, others, mode).to_doubles();
    const std::vector<double> right = bbox_overlaps(others, boxes, mode).to_doubles();
    for (int64_t i = 0; i < 20; ++i) {
      for (int64_t j = 0; j < 3; ++j) {
        EXPECT_EQ(std::isnan(left[i * 3 + j]), i == 7) << i;
        EXPECT_EQ(std::isnan(right[j * 20 + i]), i == 7) << i;
      }
    }
  }
}

TEST(BBoxOverlaps, ZeroAreaBoxesDivideByEps) {
  const Tensor point = Tensor::from<float>({5, 5, 5, 5}, {1, 4});
  EXPECT_EQ(bbox_overlaps(point, point).item(), 0);
  EXPECT_EQ(bbox_overlaps(Tensor({0, 4}, DType::kF32), point).shape(), (Shape{0, 1}));
}

TEST(BBoxOverlaps, RefusesWrongShapes) {
  EXPECT_THROW(bbox_overlaps(Tensor({2, 5}, DType::kF32), Tensor({2, 4}, DType::kF32)), Error);
  EXPECT_THROW(bbox_overlaps(random_boxes(2, 1), random_boxes(3, 1), OverlapMode::kIoU, /*aligned=*/true),
               Error);
}

}  // namespace
}  // namespace osprey
