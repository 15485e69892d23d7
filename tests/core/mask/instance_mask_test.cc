#include "core/mask/instance_mask.h"

#include <gtest/gtest.h>

#include <functional>

#include "core/base/error.h"
#include "core/base/rng.h"
#include "tests/golden.h"

namespace osprey {
namespace {

using testing::Golden;

InstanceMask mask_of(const Tensor& bitmap) {
  return from_bitmap(bitmap.data<uint8_t>(), bitmap.dim(0), bitmap.dim(1));
}

using MaskTransform = std::function<InstanceMask(const InstanceMask&)>;

// What the op of a case does; the fixture says how large the result is, "resize_60x50" for itself.
MaskTransform transform_of(const std::string& op, int64_t h, int64_t w) {
  if (op == "flip_h") return flip_horizontal;
  if (op == "flip_v") return flip_vertical;
  if (op == "flip_d") return [](const InstanceMask& m) { return flip_horizontal(flip_vertical(m)); };
  if (starts_with(op, "resize") || starts_with(op, "rescale")) {
    return [=](const InstanceMask& m) { return resize(m, h, w); };
  }
  if (starts_with(op, "pad")) return [=](const InstanceMask& m) { return pad(m, h, w); };
  return nullptr;
}

bool gives(const MaskTransform& transform, const Tensor& masks, const Tensor& results) {
  for (int64_t i = 0; i < masks.dim(0); ++i) {
    if (!bitwise_equal(to_bitmap(transform(mask_of(masks[i]))), results[i])) return false;
  }
  return true;
}

// The fixture does not say where the window lay: exactly one of its size gives the result.
int windows_that_give(const Tensor& masks, const Tensor& results) {
  const int64_t h = results.dim(1), w = results.dim(2);
  int windows = 0;
  for (int64_t y = 0; y + h <= masks.dim(1); ++y) {
    for (int64_t x = 0; x + w <= masks.dim(2); ++x) {
      const auto window = [=](const InstanceMask& m) { return crop(m, x, y, x + w, y + h); };
      windows += gives(window, masks, results);
    }
  }
  return windows;
}

TEST(InstanceMaskTest, BitmapsMoveAsInTheReference) {
  const Golden golden = Golden::open("ops/masks");
  int cases = 0;
  for (const std::string& name : golden.cases()) {
    if (!golden.has(name + "/result")) continue;
    SCOPED_TRACE(name);
    const Tensor &masks = golden.tensor(name + "/masks"), &results = golden.tensor(name + "/result");
    const std::string op = golden.text(name, "op");
    ++cases;
    if (op == "crop") {
      EXPECT_EQ(windows_that_give(masks, results), 1);
      continue;
    }
    const MaskTransform transform = transform_of(op, results.dim(1), results.dim(2));
    ASSERT_TRUE(transform) << "unknown op " << op;
    EXPECT_TRUE(gives(transform, masks, results));
  }
  EXPECT_GT(cases, 0);
}

TEST(InstanceMaskTest, ACropStartsAtItsCorner) {
  Tensor bitmap = Tensor::zeros({6, 9}, DType::kU8);
  bitmap.mutable_data<uint8_t>()[3 * 9 + 5] = 1;  // y 3, x 5
  const Tensor cropped = to_bitmap(crop(mask_of(bitmap), 4, 1, 8, 5));
  EXPECT_EQ(cropped.shape(), (Shape{4, 4}));
  EXPECT_EQ(cropped.to_doubles()[2 * 4 + 1], 1);
}

TEST(InstanceMaskTest, PolygonCornersMoveWithTheImage) {
  const InstanceMask mask = from_polygons({{1, 2, 7, 2, 7, 8.5, 1, 8.5}}, 10, 20);
  EXPECT_EQ(resize(mask, 20, 10).polygons[0], (Polygon{0.5, 4, 3.5, 4, 3.5, 17, 0.5, 17}));
  EXPECT_EQ(flip_horizontal(mask).polygons[0], (Polygon{19, 2, 13, 2, 13, 8.5, 19, 8.5}));
  EXPECT_EQ(flip_vertical(mask).polygons[0], (Polygon{1, 8, 7, 8, 7, 1.5, 1, 1.5}));
  EXPECT_EQ(crop(mask, 2, 1, 50, 9).polygons[0], (Polygon{-1, 1, 5, 1, 5, 7.5, -1, 7.5}));
  EXPECT_EQ(crop(mask, 2, 1, 50, 9).w, 18);
  EXPECT_EQ(pad(mask, 12, 32).polygons, mask.polygons);
  EXPECT_DOUBLE_EQ(area(mask), 39);
}

TEST(InstanceMaskTest, FlippingTwiceIsTheIdentity) {
  CounterRng rng(2);
  for (int trial = 0; trial < 50; ++trial) {
    const int64_t h = 1 + rng.randint(30), w = 1 + rng.randint(30);
    Tensor bitmap({h, w}, DType::kU8);
    for (int64_t i = 0; i < h * w; ++i)
      bitmap.mutable_data<uint8_t>()[i] = static_cast<uint8_t>(rng.randint(2));
    const InstanceMask mask = mask_of(bitmap);
    EXPECT_EQ(flip_horizontal(flip_horizontal(mask)).rle, mask.rle);
    EXPECT_EQ(flip_vertical(flip_vertical(mask)).rle, mask.rle);
    EXPECT_EQ(resize(mask, h, w).rle, mask.rle);
    EXPECT_EQ(crop(pad(mask, h + 3, w + 5), 0, 0, w, h).rle, mask.rle);
    EXPECT_EQ(area(resize(mask, 2 * h, 3 * w)), 6 * area(mask));
  }
}

TEST(InstanceMaskTest, ACropOutsideTheImageKeepsOnePixel) {
  const Tensor ones = Tensor::full({4, 6}, 1, DType::kU8);
  const InstanceMask cropped = crop(mask_of(ones), 6, 4, 9, 9);
  EXPECT_EQ(cropped.h, 1);
  EXPECT_EQ(cropped.w, 1);
  EXPECT_EQ(area(cropped), 0);
  EXPECT_THROW(pad(mask_of(ones), 3, 6), Error);
}

}  // namespace
}  // namespace osprey
