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

void expect_golden(const std::string& name,
                   const std::function<InstanceMask(const InstanceMask&)>& transform) {
  const Golden golden = Golden::open("ops/masks");
  const Tensor masks = golden.tensor(name + "/masks"), results = golden.tensor(name + "/result");
  for (int64_t i = 0; i < masks.dim(0); ++i) {
    const InstanceMask result = transform(mask_of(masks[i]));
    EXPECT_TENSOR_EQ(to_bitmap(result), results[i]) << name << ", mask " << i;
    EXPECT_EQ(result.h, results.dim(1));
    EXPECT_EQ(result.w, results.dim(2));
  }
}

TEST(InstanceMaskTest, ResizesBitmapsAsTheReference) {
  expect_golden("bitmap_resize_60x50", [](const InstanceMask& m) { return resize(m, 60, 50); });
  expect_golden("bitmap_resize_20x31", [](const InstanceMask& m) { return resize(m, 20, 31); });
  expect_golden("bitmap_rescale_100x70", [](const InstanceMask& m) { return resize(m, 70, 81); });
}

TEST(InstanceMaskTest, FlipsPadsAndCropsBitmapsAsTheReference) {
  expect_golden("bitmap_flip_h", flip_horizontal);
  expect_golden("bitmap_flip_v", flip_vertical);
  expect_golden("bitmap_flip_d", [](const InstanceMask& m) { return flip_horizontal(flip_vertical(m)); });
  expect_golden("bitmap_pad_64x64", [](const InstanceMask& m) { return pad(m, 64, 64); });
  expect_golden("bitmap_crop", [](const InstanceMask& m) { return crop(m, 5, 7, 30, 29); });
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
