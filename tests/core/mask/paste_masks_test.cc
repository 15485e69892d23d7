#include <gtest/gtest.h>

#include <cmath>

#include "core/base/error.h"
#include "core/mask/instance_mask.h"
#include "tests/golden.h"

namespace osprey {
namespace {

using testing::Golden;

TEST(PasteMasksTest, MatchesTheReferenceUpToTies) {
  const Golden golden = Golden::open("ops/masks");
  const Tensor probs = golden.tensor("paste/probs").reshape({9, 28, 28});
  const std::vector<Rle> pasted = paste_masks(probs, golden.tensor("paste/boxes"), 60, 80, 0.5);
  const Tensor values = golden.tensor("paste/pasted"), binary = golden.tensor("paste/binary");
  ASSERT_EQ(pasted.size(), 9u);
  for (int64_t k = 0; k < 9; ++k) {
    const Tensor actual = decode(pasted[k]);
    int64_t wrong = 0;
    for (int64_t i = 0; i < 60 * 80; ++i) {
      const bool tie = std::abs(values[k].data<float>()[i] - 0.5f) < 1e-5f;  // rounding decides these
      wrong += !tie && actual.data<uint8_t>()[i] != binary[k].data<uint8_t>()[i];
    }
    EXPECT_EQ(wrong, 0) << "mask " << k;
  }
}

TEST(PasteMasksTest, AFullMaskFillsItsBox) {
  const Tensor ones = Tensor::full({1, 28, 28}, 1, DType::kF32);
  const Rle rle = paste_masks(ones, Tensor::from<float>({10, 20, 40, 35}, {1, 4}), 50, 60, 0.5)[0];
  EXPECT_EQ(bounding_box(rle), (XYWH{10, 20, 30, 15}));
  EXPECT_EQ(area(rle), 30 * 15);
}

TEST(PasteMasksTest, BoxesOutsideTheImageAndNoMasksAreEmpty) {
  EXPECT_TRUE(
      paste_masks(Tensor({0, 28, 28}, DType::kF32), Tensor({0, 4}, DType::kF32), 50, 60, 0.5).empty());
  const Tensor ones = Tensor::full({3, 28, 28}, 1, DType::kF32);
  const Tensor boxes = Tensor::from<float>({100, 100, 120, 120, -50, -50, -20, -20, NAN, 0, 5, 5}, {3, 4});
  for (const Rle& rle : paste_masks(ones, boxes, 50, 60, 0.5)) {
    EXPECT_EQ(area(rle), 0);
    EXPECT_EQ(rle.h * rle.w, 50 * 60);
  }
  EXPECT_THROW(paste_masks(ones, Tensor({2, 4}, DType::kF32), 50, 60, 0.5), Error);
}

}  // namespace
}  // namespace osprey
