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
  int cases = 0;
  for (const std::string& name : golden.cases()) {
    if (!golden.has_param(name, "threshold")) continue;
    ++cases;
    const Tensor& stored = golden.tensor(name + "/probs");  // (n, 1, h, w)
    const Tensor probs = stored.reshape({stored.dim(0), stored.dim(2), stored.dim(3)});
    const double threshold = golden.number(name, "threshold");
    const std::vector<Rle> pasted =
        paste_masks(probs, golden.tensor(name + "/boxes"), golden.integer(name, "img_h"),
                    golden.integer(name, "img_w"), threshold);
    const Tensor values = golden.tensor(name + "/pasted"), binary = golden.tensor(name + "/binary");
    ASSERT_EQ(static_cast<int64_t>(pasted.size()), binary.dim(0));
    for (int64_t k = 0; k < binary.dim(0); ++k) {
      const Tensor actual = decode(pasted[k]);
      ASSERT_EQ(actual.shape(), binary[k].shape());
      int64_t wrong = 0;
      for (int64_t i = 0; i < actual.numel(); ++i) {
        const bool tie = std::abs(values[k].data<float>()[i] - threshold) < 1e-5;  // rounding decides these
        wrong += !tie && actual.data<uint8_t>()[i] != binary[k].data<uint8_t>()[i];
      }
      EXPECT_EQ(wrong, 0) << name << ", mask " << k;
    }
  }
  EXPECT_GT(cases, 0);
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
