#include "core/bbox/tblr_bbox_coder.h"

#include <gtest/gtest.h>

#include "core/bbox/point_distance.h"
#include "tests/devices.h"
#include "tests/golden.h"

namespace osprey {
namespace {

using testing::Golden;

std::unique_ptr<BBoxCoder> coder(const std::string& keys) {
  return build<BBoxCoder>(parse_config("{type: TBLRBBoxCoder, " + keys + "}"));
}

class Distances : public ::testing::TestWithParam<Device> {
 protected:
  Tensor here(const Tensor& tensor) const { return tensor.to(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Devices, Distances, ::testing::ValuesIn(testing::devices_in_build()),
                         [](const auto& info) { return testing::device_name(info.param); });

TEST_P(Distances, OfPointsAgreeWithTheReference) {
  const Golden golden = Golden::open("ops/bbox_coder");
  int checked = 0;
  for (const std::string& name : golden.cases()) {
    SCOPED_TRACE(name);
    const std::string op = golden.text(name, "op");
    if (op != "distance2bbox" && op != "bbox2distance") continue;
    const Tensor points = here(golden.tensor(name + "/points")), &dist = golden.tensor(name + "/dist");
    if (op == "distance2bbox") {
      const std::vector<int64_t> size = golden.integers(name, "max_shape");
      const Tensor boxes = distance2bbox(points, here(dist), std::array<int64_t, 2>{size[0], size[1]});
      EXPECT_TENSOR_NEAR(boxes.to(kCPU), golden.tensor(name + "/boxes"), 1e-6, 1e-6);
    } else {
      const Tensor distance = bbox2distance(points, here(golden.tensor(name + "/rois")),
                                            golden.number(name, "max_dis"), golden.number(name, "eps"));
      EXPECT_TENSOR_NEAR(distance.to(kCPU), dist, 1e-5, 1e-6);
    }
    ++checked;
  }
  EXPECT_GT(checked, 0);
}

TEST_P(Distances, OfPointsAreUndoneWhenNothingIsClipped) {
  const Tensor points = here(testing::uniform({20, 2}, 0, 100, 1));
  const Tensor distance = here(testing::uniform({20, 4}, -5, 50, 2));
  EXPECT_TENSOR_NEAR(bbox2distance(points, distance2bbox(points, distance)), distance, 1e-4, 0);
  EXPECT_EQ(distance2bbox(here(Tensor({0, 2}, DType::kF32)), here(Tensor({0, 4}, DType::kF32))).shape(),
            (Shape{0, 4}));
  EXPECT_THROW(distance2bbox(points, points), Error);
}

// Prior 10 wide and 20 high around (15, 30).
const Tensor kPrior = Tensor::from<float>({10, 20, 20, 40}, {1, 4});

TEST_P(Distances, TblrIsWrittenOutByHand) {
  const Tensor gt = Tensor::from<float>({5, 10, 30, 60}, {1, 4});
  // top 20, bottom 30, left 10, right 15; over height 20 or width 10, and 4.
  EXPECT_EQ(coder("normalizer: 4")->encode(here(kPrior), here(gt)).to_doubles(),
            (std::vector<double>{0.25, 0.375, 0.25, 0.375}));
  EXPECT_EQ(
      coder("normalizer: [1, 2, 5, 3], normalize_by_wh: false")->encode(here(kPrior), here(gt)).to_doubles(),
      (std::vector<double>{20, 15, 2, 5}));
}

TEST_P(Distances, TblrDecodeUndoesEncodeAndClips) {
  const Tensor gt = Tensor::from<float>({5, 10, 30, 60}, {1, 4});
  const auto tblr = coder("normalizer: [1, 2, 5, 3]");
  const Tensor code = tblr->encode(here(kPrior), here(gt));
  EXPECT_TENSOR_NEAR(tblr->decode(here(kPrior), code, {}).to(kCPU), gt, 1e-5, 0);
  const std::array<int64_t, 2> small{50, 25};
  EXPECT_EQ(tblr->decode(here(kPrior), code, small).to_doubles(), (std::vector<double>{5, 10, 25, 50}));
  EXPECT_EQ(
      coder("normalizer: [1, 2, 5, 3], clip_border: false")->decode(here(kPrior), code, small).to_doubles(),
      (std::vector<double>{5, 10, 30, 60}));
  EXPECT_EQ(tblr->decode(here(Tensor({0, 4}, DType::kF32)), here(Tensor({0, 4}, DType::kF32)), {}).shape(),
            (Shape{0, 4}));
}

// The decoding is linear but for the clipping, so that differences of any size are its gradient.
TEST_P(Distances, TblrDecodePassesItsGradient) {
  const auto tblr = coder("normalizer: [1, 2, 4, 3]");
  const std::array<int64_t, 2> shape{48, 100};
  const Tensor code = Tensor::from<float>({0.5f, 0.5f, 0.25f, 0.5f}, {1, 4});  // bottom lies at 50: clipped
  const Variable leaf(here(code), true);
  tblr->decode(here(kPrior), leaf, shape).backward(here(Tensor::from<float>({1, 10, 100, 1000}, {1, 4})));
  EXPECT_EQ(leaf.grad().to_doubles(), (std::vector<double>{-10.0 * 20, 0, -1.0 * 4 * 10, 100.0 * 3 * 10}));
}

TEST(TBLRBBoxCoder, NamesABadKey) {
  EXPECT_THROW(coder("normalizer: 0"), UserError);
  EXPECT_THROW(coder("normalizer: [1, 2, 3]"), UserError);
}

}  // namespace
}  // namespace osprey
