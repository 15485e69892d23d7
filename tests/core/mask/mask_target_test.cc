#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/mask/instance_mask.h"
#include "tests/golden.h"

namespace osprey {
namespace {

using testing::Golden;
using testing::uniform;

InstanceMasks bitmap_masks(const Tensor& bitmaps) {
  InstanceMasks masks;
  for (int64_t i = 0; i < bitmaps.dim(0); ++i) {
    masks.push_back(from_bitmap(bitmaps[i].data<uint8_t>(), bitmaps.dim(1), bitmaps.dim(2)));
  }
  return masks;
}

class MaskTargetTest : public ::testing::Test {
 protected:
  Tensor at(const std::string& name, const char* tensor) const { return golden_.tensor(name + "/" + tensor); }

  InstanceMasks masks_of(const std::string& name) const {
    return golden_.has(name + "/masks") ? bitmap_masks(at(name, "masks")) : polygon_masks(name);
  }

  InstanceMasks polygon_masks(const std::string& name) const {
    const auto& json = polygons_.json();
    InstanceMasks masks;
    for (const int64_t i : golden_.integers(name, "polygons")) {
      masks.push_back(from_polygons(json["polygons"][i]["polygons"].get<std::vector<Polygon>>(),
                                    json["size"][0], json["size"][1]));
    }
    return masks;
  }

  // The fixture shows the boxes after mask_target had clipped them in place: of one at the border the box
  // that its targets belong to is not known. (The mask_target cases judge those.)
  bool touches_border(const Tensor& box) const {
    const std::vector<double> b = box.to_doubles();
    const auto& size = polygons_.json()["size"];
    return b[0] <= 0 || b[1] <= 0 || b[2] >= size[1].get<double>() || b[3] >= size[0].get<double>();
  }

  // Bitmap masks are interpolated: where the reference's value lies within 1e-5 of 0.5 rounding decides.
  void expect_targets(const std::string& name, const Tensor& actual, int64_t box) const {
    const auto got = actual.to_vector<uint8_t>(), expected = at(name, "targets")[box].to_vector<uint8_t>();
    ASSERT_EQ(got.size(), expected.size());
    const std::vector<double> values =
        golden_.has(name + "/targets_f") ? at(name, "targets_f")[box].to_doubles() : std::vector<double>();
    for (size_t i = 0; i < got.size(); ++i) {
      const bool tie = !values.empty() && std::abs(values[i] - 0.5) < 1e-5;
      ASSERT_TRUE(tie || got[i] == expected[i]) << name << ", box " << box << ", pixel " << i;
    }
  }

  const Golden golden_ = Golden::open("ops/masks"), polygons_ = Golden::open("ops/masks_rle");
};

TEST_F(MaskTargetTest, TargetsMatchTheReference) {
  int judged = 0;
  for (const std::string& name :
       golden_.cases("op", {"BitmapMasks.crop_and_resize", "PolygonMasks.crop_and_resize"})) {
    const auto [h, w] = golden_.height_width(name, "out_shape");
    const Tensor targets = crop_and_resize(masks_of(name), at(name, "boxes"), at(name, "inds"), h, w);
    ASSERT_EQ(targets.shape(), at(name, "targets").shape());
    for (int64_t box = 0; box < targets.dim(0); ++box) {
      if (touches_border(at(name, "boxes")[box])) continue;
      expect_targets(name, targets[box], box);
      ++judged;
    }
  }
  EXPECT_GT(judged, 0);
}

TEST_F(MaskTargetTest, MaskTargetClipsTheBoxesFirst) {
  int cases = 0;
  for (const std::string& name : golden_.cases()) {
    if (!golden_.has_param(name, "mask_size")) continue;
    const auto [h, w] = golden_.height_width(name, "mask_size");
    EXPECT_TENSOR_EQ(mask_target(masks_of(name), at(name, "boxes"), at(name, "inds"), h, w),
                     at(name, "targets"))
        << name;
    ++cases;
  }
  EXPECT_GT(cases, 0);
}

// A box that starts left of and above the image is that of a larger image with a blank margin.
TEST_F(MaskTargetTest, OutsideTheImageIsBlank) {
  Tensor bitmap = uniform({1, 20, 30}, 0, 2, 3).to(DType::kU8);
  Tensor padded = Tensor::zeros({1, 28, 36}, DType::kU8);
  for (int64_t y = 0; y < 20; ++y) {
    std::copy_n(bitmap.data<uint8_t>() + y * 30, 30, padded.mutable_data<uint8_t>() + (y + 8) * 36 + 6);
  }
  const Tensor box = Tensor::from<float>({-6, -8, 10.5f, 13.25f}, {1, 4});
  const Tensor moved = Tensor::from<float>({0, 0, 16.5f, 21.25f}, {1, 4});
  const Tensor first = Tensor::zeros({1}, DType::kI64);
  // RoIAlign gives 0 beyond one pixel outside and repeats the border within: compare away from the border.
  const Tensor a = crop_and_resize(bitmap_masks(bitmap), box, first, 7, 7);
  const Tensor b = crop_and_resize(bitmap_masks(padded), moved, first, 7, 7);
  for (const int64_t y : {0, 1, 4, 5, 6}) {
    for (const int64_t x : {0, 1, 4, 5, 6})
      EXPECT_EQ(a.data<uint8_t>()[y * 7 + x], b.data<uint8_t>()[y * 7 + x]);
  }
}

TEST_F(MaskTargetTest, NoBoxesGiveNoTargets) {
  const Tensor none = crop_and_resize({}, Tensor({0, 4}, DType::kF32), Tensor({0}, DType::kI64), 28, 28);
  EXPECT_EQ(none.shape(), (Shape{0, 28, 28}));
  EXPECT_EQ(mask_target({}, Tensor({0, 4}, DType::kF32), Tensor({0}, DType::kI64), 28, 28).shape(),
            none.shape());
}

TEST_F(MaskTargetTest, BoxesWithoutExtentOrOutsideGiveEmptyBitmapTargets) {
  const InstanceMasks masks = bitmap_masks(Tensor::full({1, 20, 30}, 1, DType::kU8));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor boxes =
      Tensor::from<float>({5, 5, 5, 9, 9, 9, 4, 4, 100, 100, 120, 130, nan, 0, 9, 9}, {4, 4});
  const Tensor targets = crop_and_resize(masks, boxes, Tensor::zeros({4}, DType::kI64), 7, 7);
  EXPECT_TENSOR_EQ(targets, Tensor::zeros({4, 7, 7}, DType::kU8));
}

TEST_F(MaskTargetTest, AnIndexOutOfRangeIsAnError) {
  const InstanceMasks masks = bitmap_masks(Tensor::full({1, 20, 30}, 1, DType::kU8));
  const Tensor box = Tensor::from<float>({0, 0, 9, 9}, {1, 4});
  EXPECT_THROW(crop_and_resize(masks, box, Tensor::from<int64_t>({1}, {1}), 7, 7), Error);
  EXPECT_THROW(crop_and_resize(masks, box, Tensor::from<int64_t>({0, 0}, {2}), 7, 7), Error);
}

}  // namespace
}  // namespace osprey
