#include "core/mask/rle.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/rng.h"
#include "tests/golden.h"

namespace osprey {
namespace {

using testing::Golden;

Tensor random_bitmap(int64_t h, int64_t w, double density, uint64_t seed) {
  Tensor bitmap({h, w}, DType::kU8);
  CounterRng rng(seed);
  for (int64_t i = 0; i < bitmap.numel(); ++i) bitmap.mutable_data<uint8_t>()[i] = rng.uniform() < density;
  return bitmap;
}

Rle encode_tensor(const Tensor& bitmap) {
  return encode(bitmap.data<uint8_t>(), bitmap.dim(0), bitmap.dim(1));
}

std::vector<Rle> golden_polygon_masks() {
  const Golden golden = Golden::open("ops/masks_rle");
  std::vector<Rle> masks;
  const auto& size = golden.json()["size"];
  for (const auto& entry : golden.json()["polygons"])
    masks.push_back(rle_from_string(entry["counts_string"], size[0], size[1]));
  return masks;
}

TEST(RleTest, EncodesAndMeasuresAsTheReference) {
  const Golden golden = Golden::open("ops/masks"), strings = Golden::open("ops/masks_rle");
  const Tensor bitmaps = golden.tensor("encode/bitmaps");
  for (int64_t i = 0; i < bitmaps.dim(0); ++i) {
    const Rle rle = encode_tensor(bitmaps[i]);
    EXPECT_EQ(to_string(rle), strings.json()["bitmaps"][i]["counts_string"].get<std::string>())
        << "bitmap " << i;
    EXPECT_TENSOR_EQ(decode(rle), bitmaps[i]);
    EXPECT_EQ(area(rle), golden.tensor("encode/area").data<int64_t>()[i]);
    const XYWH box = bounding_box(rle);
    EXPECT_TENSOR_EQ(Tensor::from(std::vector<double>(box.begin(), box.end()), {4}),
                     golden.tensor("encode/bbox")[i]);
  }
}

TEST(RleTest, LongRunsTakeSeveralCharacters) {
  const auto json = Golden::open("ops/masks_rle").json()["big"];
  const Rle rle = rle_from_string(json["counts_string"], json["size"][0], json["size"][1]);
  EXPECT_EQ(rle.counts, json["counts"].get<std::vector<uint32_t>>());
  EXPECT_EQ(to_string(rle), json["counts_string"].get<std::string>());
  EXPECT_EQ(area(rle), json["area"].get<int64_t>());
  EXPECT_EQ(bounding_box(rle), json["bbox"].get<XYWH>());
}

TEST(RleTest, MergesAsTheReference) {
  const std::vector<Rle> masks = golden_polygon_masks();
  for (const auto& entry : Golden::open("ops/masks_rle").json()["merge"]) {
    std::vector<Rle> inputs;
    for (const size_t i : entry["inputs"]) inputs.push_back(masks[i]);
    EXPECT_EQ(to_string(merge(inputs, entry["intersect"])), entry["counts_string"].get<std::string>())
        << entry.dump();
  }
}

TEST(RleTest, MaskIouMatchesTheReferenceWithAndWithoutCrowds) {
  const Golden golden = Golden::open("ops/masks");
  const std::vector<Rle> masks = golden_polygon_masks();
  std::vector<const Rle*> dt, gt;
  for (const int64_t i : golden.integers("mask_iou", "dt_polygons")) dt.push_back(&masks[i]);
  for (const int64_t i : golden.integers("mask_iou", "gt_polygons")) gt.push_back(&masks[i]);
  const auto ious = iou(dt, gt, golden.tensor("mask_iou/iscrowd").to_vector<uint8_t>());
  EXPECT_TENSOR_NEAR(Tensor::from(ious, golden.tensor("mask_iou/iou").shape()), golden.tensor("mask_iou/iou"),
                     1e-7, 1e-7);
}

TEST(RleTest, BoxIouMatchesTheReference) {
  const Golden golden = Golden::open("ops/masks");
  const auto dt = golden.tensor("bbox_iou/dt").to_doubles(), gt = golden.tensor("bbox_iou/gt").to_doubles();
  const auto iscrowd = golden.tensor("bbox_iou/iscrowd").to_vector<uint8_t>();
  std::vector<double> ious;
  for (size_t d = 0; d < dt.size() / 4; ++d) {
    for (size_t g = 0; g < gt.size() / 4; ++g) {
      const XYWH a{dt[4 * d], dt[4 * d + 1], dt[4 * d + 2], dt[4 * d + 3]};
      const XYWH b{gt[4 * g], gt[4 * g + 1], gt[4 * g + 2], gt[4 * g + 3]};
      ious.push_back(iou(a, b, iscrowd[g]));
    }
  }
  EXPECT_TENSOR_NEAR(Tensor::from(ious, golden.tensor("bbox_iou/iou").shape()), golden.tensor("bbox_iou/iou"),
                     1e-7, 1e-6);
}

TEST(RleTest, RandomMasksSurviveEveryRoundTrip) {
  uint64_t seed = 0;
  for (const auto& [h, w] :
       {std::pair<int64_t, int64_t>{1, 1}, {7, 1}, {1, 9}, {13, 70}, {90, 65}, {0, 5}, {5, 0}}) {
    for (const double density : {0.0, 0.02, 0.5, 0.98, 1.0}) {
      const Tensor bitmap = random_bitmap(h, w, density, ++seed);
      const Rle rle = encode_tensor(bitmap);
      EXPECT_TENSOR_EQ(decode(rle), bitmap);
      EXPECT_EQ(rle_from_string(to_string(rle), h, w), rle);
      for (size_t i = 1; i < rle.counts.size(); ++i) EXPECT_GT(rle.counts[i], 0u) << "not canonical";
    }
  }
}

TEST(RleTest, MergeAndIouAgreeWithPixels) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Tensor a = random_bitmap(11, 17, 0.1 * static_cast<double>(seed % 10), seed);
    const Tensor b = random_bitmap(11, 17, 0.4, seed + 100);
    Tensor both = Tensor::zeros({11, 17}, DType::kU8), either = Tensor::zeros({11, 17}, DType::kU8);
    int64_t common = 0, joined = 0;
    for (int64_t i = 0; i < a.numel(); ++i) {
      const bool in_a = a.data<uint8_t>()[i] != 0, in_b = b.data<uint8_t>()[i] != 0;
      common += both.mutable_data<uint8_t>()[i] = in_a && in_b;
      joined += either.mutable_data<uint8_t>()[i] = in_a || in_b;
    }
    const Rle rle_a = encode_tensor(a), rle_b = encode_tensor(b);
    EXPECT_EQ(merge({rle_a, rle_b}, true), encode_tensor(both));
    EXPECT_EQ(merge({rle_a, rle_b}), encode_tensor(either));
    const double expected = static_cast<double>(common) / static_cast<double>(joined);
    EXPECT_DOUBLE_EQ(iou({&rle_a}, {&rle_b}, {0})[0], expected);
    const double crowd =
        area(rle_a) == 0 ? 0.0 : static_cast<double>(common) / static_cast<double>(area(rle_a));
    EXPECT_DOUBLE_EQ(iou({&rle_a}, {&rle_b}, {1})[0], crowd);
  }
}

TEST(RleTest, MalformedTextIsAUserError) {
  const Rle rle = encode_tensor(random_bitmap(40, 50, 0.3, 3));
  const std::string text = to_string(rle);
  EXPECT_THROW(rle_from_string(text.substr(0, text.size() - 1), 40, 50), UserError);
  EXPECT_THROW(rle_from_string(text + "1", 40, 50), UserError);
  EXPECT_THROW(rle_from_string(text, 50, 50), UserError);
  EXPECT_THROW(rle_from_string("", 40, 50), UserError);
  EXPECT_THROW(rle_from_string("\x01\x02", 40, 50), UserError);
  EXPECT_THROW(rle_from_string("N", 1, 1), UserError);                  // a negative run
  EXPECT_THROW(rle_from_string("oooooooooooooo", 1, 1), UserError);     // a number without an end
  EXPECT_THROW(rle_from_string("0", 1LL << 40, 1LL << 40), UserError);  // overflow of h * w
  EXPECT_THROW(rle_from_counts({3, -1, 4}, 2, 3), UserError);
  EXPECT_THROW(rle_from_counts({3, 2}, 2, 3), UserError);
  EXPECT_EQ(rle_from_counts({}, 0, 3).counts.size(), 0u);
}

TEST(RleTest, RandomTextNeverCrashes) {
  CounterRng rng(5);
  for (int trial = 0; trial < 5000; ++trial) {
    std::string text(static_cast<size_t>(rng.randint(12)), ' ');
    for (char& c : text) c = static_cast<char>(rng.randint(256));
    try {
      decode(rle_from_string(text, 6, 7));
    } catch (const UserError&) {
    }
  }
}

TEST(RleTest, MasksOfDifferentSizeAreRefused) {
  const Rle a = encode_tensor(random_bitmap(3, 4, 1, 1)), b = encode_tensor(random_bitmap(4, 3, 1, 1));
  EXPECT_THROW(merge({a, b}), Error);
  EXPECT_THROW(iou({&a}, {&b}, {0}), Error);
}

}  // namespace
}  // namespace osprey
