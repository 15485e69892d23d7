#include "core/bbox/bbox_coder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/golden.h"

namespace osprey {
namespace {

using testing::Golden;
using MaxShape = std::optional<std::array<int64_t, 2>>;

std::unique_ptr<BBoxCoder> coder(const std::string& keys) {
  return build<BBoxCoder>(parse_config("{type: DeltaXYWHBBoxCoder, " + keys + "}"));
}

std::unique_ptr<BBoxCoder> coder_of(const nlohmann::json& params) {
  const std::string clip = params.value("clip_border", true) ? "true" : "false";
  return coder("target_means: " + params["target_means"].dump() +
               ", target_stds: " + params["target_stds"].dump() + ", clip_border: " + clip);
}

MaxShape shape_of(const nlohmann::json& shape) {
  if (shape.is_null()) return std::nullopt;
  return std::array<int64_t, 2>{shape[0].get<int64_t>(), shape[1].get<int64_t>()};
}

TEST(DeltaXYWHBBoxCoder, EncodesAndDecodesAsTheReference) {
  const Golden golden = Golden::open("ops/bbox_coder");
  for (const std::string& name : golden.cases("op", {"encode", "decode"})) {
    SCOPED_TRACE(name);
    const nlohmann::json& params = golden.json()["cases"][name]["params"];
    const std::string op = params["op"];
    const auto coder = coder_of(params);
    const Tensor &rois = golden.tensor(name + "/rois"), &deltas = golden.tensor(name + "/deltas");
    if (op == "encode") {
      EXPECT_TENSOR_NEAR(coder->encode(rois, golden.tensor(name + "/gt")), deltas, 2e-6, 1e-5);
    } else if (rois.rank() == 2) {
      const MaxShape shape = shape_of(params["max_shape"]);
      EXPECT_TENSOR_NEAR(coder->decode(rois, deltas, shape), golden.tensor(name + "/boxes"), 1e-4, 1e-5);
    } else {
      for (int64_t i = 0; i < rois.dim(0); ++i) {
        const MaxShape shape = shape_of(params["max_shape"][i]);
        EXPECT_TENSOR_NEAR(coder->decode(rois[i], deltas[i], shape), golden.tensor(name + "/boxes")[i], 1e-4,
                           1e-5);
      }
    }
  }
}

TEST(DeltaXYWHBBoxCoder, DecodedBoxesPassTheReferencesGradient) {
  const Golden golden = Golden::open("ops/bbox_coder");
  for (const std::string& name : golden.cases("op", {"decode"})) {
    if (!golden.has(name + "/grad_deltas")) continue;
    SCOPED_TRACE(name);
    const nlohmann::json& params = golden.json()["cases"][name]["params"];
    const Variable deltas(golden.tensor(name + "/deltas"), /*requires_grad=*/true);
    coder_of(params)
        ->decode(golden.tensor(name + "/rois"), deltas, shape_of(params["max_shape"]))
        .backward(golden.tensor(name + "/grad_out"));
    EXPECT_TENSOR_NEAR(deltas.grad(), golden.tensor(name + "/grad_deltas"), 1e-5, 1e-4);
  }
}

TEST(DeltaXYWHBBoxCoder, DecodeUndoesEncode) {
  Tensor boxes = testing::uniform({50, 4}, 0, 100, 1), targets = testing::uniform({50, 4}, 0, 100, 2);
  for (Tensor* tensor : {&boxes, &targets}) {
    float* box = tensor->mutable_data<float>();
    for (int64_t i = 0; i < 50; ++i, box += 4) {
      box[2] += box[0] + 10;
      box[3] += box[1] + 10;
    }
  }
  const auto rcnn = coder("target_stds: [0.1, 0.1, 0.2, 0.2]");
  EXPECT_TENSOR_NEAR(rcnn->decode(boxes, rcnn->encode(boxes, targets), {}), targets, 1e-3, 0);
}

TEST(DeltaXYWHBBoxCoder, NaNStaysNaNInItsCoordinate) {
  const Tensor box = Tensor::from<float>({10, 10, 20, 20}, {1, 4});
  const Tensor deltas = Tensor::from<float>({std::nanf(""), 0, 0, 0}, {1, 4});
  const std::vector<double> decoded =
      coder("clip_border: true")->decode(box, deltas, std::array<int64_t, 2>{100, 100}).to_doubles();
  EXPECT_TRUE(std::isnan(decoded[0]) && std::isnan(decoded[2]));
  EXPECT_EQ(decoded[1], 10);
}

TEST(DeltaXYWHBBoxCoder, EmptyInputsGiveEmptyOutputs) {
  const Tensor none({0, 4}, DType::kF32);
  EXPECT_EQ(coder("clip_border: true")->encode(none, none).shape(), (Shape{0, 4}));
  EXPECT_EQ(coder("clip_border: true")->decode(none, Tensor({0, 12}, DType::kF32), {}).shape(),
            (Shape{0, 12}));
}

TEST(DeltaXYWHBBoxCoder, NamesABadKey) {
  try {
    coder("target_stds: [0.1, 0.1, 0.2]");
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("target_stds"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("four numbers"), std::string::npos) << error.what();
  }
  EXPECT_THROW(coder("target_stds: [0.1, 0.1, 0.2, 0]"), UserError);
}

}  // namespace
}  // namespace osprey
