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

InstanceMasks bitmap_masks(const Tensor& bitmaps) {
  InstanceMasks masks;
  for (int64_t i = 0; i < bitmaps.dim(0); ++i) {
    masks.push_back(from_bitmap(bitmaps[i].data<uint8_t>(), bitmaps.dim(1), bitmaps.dim(2)));
  }
  return masks;
}

InstanceMasks polygon_masks(const std::vector<int64_t>& indices) {
  const auto json = Golden::open("ops/masks_rle").json()["polygons"];
  InstanceMasks masks;
  for (const int64_t i : indices) {
    masks.push_back(from_polygons(json[i]["polygons"].get<std::vector<Polygon>>(), 37, 43));
  }
  return masks;
}

class MaskTargetTest : public ::testing::Test {
 protected:
  Tensor at(const std::string& name) const { return golden_.tensor(name); }
  // The fixture shows the boxes after mask_target had clipped them in place. The targets_f of box 3 give its
  // corner back to 1e-6; box 4 sees no mask at all.
  Tensor unclipped_boxes(const std::string& name) const {
    Tensor boxes = at(name + "/boxes").clone();
    boxes.mutable_data<float>()[3 * 4] = -6;
    boxes.mutable_data<float>()[3 * 4 + 1] = -5;
    return boxes;
  }
  const Golden golden_ = Golden::open("ops/masks");
};

TEST_F(MaskTargetTest, BitmapTargetsMatchTheReferenceExactly) {
  for (const auto& [name, h, w] : {std::tuple<std::string, int64_t, int64_t>{"bitmap_target_28x28", 28, 28},
                                   {"bitmap_target_14x14", 14, 14},
                                   {"bitmap_target_7x11", 7, 11}}) {
    const Tensor targets =
        crop_and_resize(bitmap_masks(at(name + "/masks")), unclipped_boxes(name), at(name + "/inds"), h, w);
    EXPECT_TENSOR_EQ(targets, at(name + "/targets")) << name;
  }
}

TEST_F(MaskTargetTest, PolygonTargetsMatchTheReferenceExactly) {
  for (const auto& [name, h, w] : {std::tuple<std::string, int64_t, int64_t>{"polygon_target_28x28", 28, 28},
                                   {"polygon_target_14x14", 14, 14},
                                   {"polygon_target_7x11", 7, 11}}) {
    const InstanceMasks masks = polygon_masks(golden_.integers(name, "polygons"));
    const Tensor targets = crop_and_resize(masks, unclipped_boxes(name), at(name + "/inds"), h, w);
    for (int64_t box = 0; box < targets.dim(0); ++box) {
      if (box == 4) continue;  // lost its right side to the clipping too; mask_target below covers it
      EXPECT_TENSOR_EQ(targets[box], at(name + "/targets")[box]) << name << ", box " << box;
    }
  }
}

TEST_F(MaskTargetTest, MaskTargetClipsTheBoxesFirst) {
  EXPECT_TENSOR_EQ(mask_target(bitmap_masks(at("mask_target_bitmap/masks")), at("mask_target_bitmap/boxes"),
                               at("mask_target_bitmap/inds"), 28, 28),
                   at("mask_target_bitmap/targets"));
  EXPECT_TENSOR_EQ(mask_target(polygon_masks(golden_.integers("mask_target_polygon", "polygons")),
                               at("mask_target_polygon/boxes"), at("mask_target_polygon/inds"), 28, 28),
                   at("mask_target_polygon/targets"));
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
