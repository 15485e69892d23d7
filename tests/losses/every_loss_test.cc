#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/ops/reduce.h"
#include "tests/devices.h"
#include "tests/losses/loss_golden.h"

// What holds for every registered loss, in f32 and on predictions that a half model made.
namespace osprey::testing {
namespace {

// What a loss is fed with: rows of four numbers of every size that f16 can hold, and their targets.
struct Feed {
  std::string keys;  // beside the type
  enum Kind { kLogits, kBoxes, kProbabilities } kind;
  Tensor target;  // (n) or (n, 4)
};

constexpr int64_t kRows = 16;
const std::vector<float> kExtremes{-65504, -1e4f, -88.8f, -17.4f, -9.39f, -6e-8f, 0,  6e-8f,
                                   9.39f,  17.4f, 88.8f,  1e4f,   65504,  1,      -1, 0.5f};

Tensor extreme_logits() {
  std::vector<float> values;
  for (int64_t row = 0; row < kRows; ++row) {
    for (const int64_t step : {1, 3, 5, 7}) values.push_back(kExtremes[(row * step + step) % 16]);
  }
  return Tensor::from(values, {kRows, 4});
}

// Ordered corners, some of them without area, some equal to the target, some as large as f16 allows.
Tensor extreme_boxes() {
  std::vector<float> values;
  for (int64_t row = 0; row < kRows; ++row) {
    const float x = static_cast<float>(row % 3) * 10, side = row % 4 == 0   ? 0
                                                             : row % 4 == 1 ? 65000.0f
                                                                            : 16.0f;
    values.insert(values.end(), {x, x, x + side, x + (row % 5 == 0 ? 0.0f : side)});
  }
  return Tensor::from(values, {kRows, 4});
}

Tensor pattern(std::vector<float> cycle, Shape shape) {
  Tensor tensor(std::move(shape), DType::kF32);
  for (int64_t i = 0; i < tensor.numel(); ++i)
    tensor.mutable_data<float>()[i] = cycle[static_cast<size_t>(i) % cycle.size()];
  return tensor;
}

std::multimap<std::string, Feed> feeds() {
  const Tensor labels = pattern({0, 1, 2, 3}, {kRows}).to(DType::kI64);
  const Tensor with_background = pattern({0, 4, 2, 1, 3}, {kRows}).to(DType::kI64);
  const Tensor qualities = pattern({0, 1, 0, 0, 0.4f}, {kRows, 4});
  const Tensor deltas = pattern({0, 0.5f, -1}, {kRows, 4});
  const Tensor boxes = pattern({10, 10, 26, 26}, {kRows, 4});
  return {
      {"CrossEntropyLoss", {"", Feed::kLogits, labels}},
      {"CrossEntropyLoss", {"use_sigmoid: true", Feed::kLogits, with_background}},
      {"CrossEntropyLoss", {"use_sigmoid: true, class_weight: [1, 2, 0, 3]", Feed::kLogits, with_background}},
      {"CrossEntropyLoss", {"use_mask: true", Feed::kLogits, qualities}},
      {"FocalLoss", {"", Feed::kLogits, with_background}},
      {"FocalLoss", {"gamma: 0", Feed::kLogits, with_background}},
      {"QualityFocalLoss", {"", Feed::kLogits, qualities}},
      {"QualityFocalLoss", {"beta: 0.5", Feed::kLogits, qualities}},
      {"VarifocalLoss", {"", Feed::kLogits, qualities}},
      {"DistributionFocalLoss", {"", Feed::kLogits, pattern({0, 1.5f, 2.25f}, {kRows})}},
      {"GaussianFocalLoss", {"", Feed::kProbabilities, qualities}},
      {"GHMC", {"", Feed::kLogits, with_background}},
      {"GHMC", {"momentum: 0.75, bins: 30", Feed::kLogits, with_background}},
      {"GHMR", {"", Feed::kLogits, deltas}},
      {"L1Loss", {"", Feed::kLogits, deltas}},
      {"SmoothL1Loss", {"", Feed::kLogits, deltas}},
      {"BalancedL1Loss", {"", Feed::kLogits, deltas}},
      {"MSELoss", {"", Feed::kLogits, deltas}},
      {"IoULoss", {"", Feed::kBoxes, boxes}},
      {"IoULoss", {"linear: true", Feed::kBoxes, boxes}},
      {"GIoULoss", {"", Feed::kBoxes, boxes}},
      {"DIoULoss", {"", Feed::kBoxes, boxes}},
      {"CIoULoss", {"", Feed::kBoxes, boxes}},
      {"BoundedIoULoss", {"", Feed::kBoxes, boxes}},
  };
}

Tensor prediction(Feed::Kind kind) {
  if (kind == Feed::kBoxes) return extreme_boxes();
  return kind == Feed::kLogits ? extreme_logits() : pattern({0, 1, 0.5f, 6e-8f, 0.9995f}, {kRows, 4});
}

TEST(EveryLoss, IsTested) {
  const auto all = feeds();
  for (const std::string& type : Registry<Loss>::instance().names()) {
    EXPECT_GT(all.count(type), 0u) << type << " has no feed above";
  }
}

TEST(EveryLoss, IsFiniteInValueAndGradientWhateverAHalfModelSays) {
  for (const Device device : devices_in_build()) {
    for (const auto& [type, feed] : feeds()) {
      for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
        SCOPED_TRACE(::testing::Message() << type << " " << feed.keys << " in " << dtype << " on " << device);
        const auto loss = loss_of("type: " + type + (feed.keys.empty() ? "" : ", " + feed.keys));
        loss->to(device);
        const Variable pred(prediction(feed.kind).to(dtype).to(device), /*requires_grad=*/true);
        const Variable value = (*loss)(pred, feed.target.to(device));
        EXPECT_EQ(value.dtype(), DType::kF32);
        EXPECT_TRUE(all_finite(value.value())) << value.value().item();
        EXPECT_GE(value.value().item(), 0);
        value.backward();
        EXPECT_EQ(pred.grad().dtype(), dtype);
        EXPECT_TRUE(all_finite(pred.grad()));
      }
    }
  }
}

// Reductions, weights and avg_factor mean the same for all; GHM harmonizes instead.
TEST(EveryLoss, ReducesItsElementsAsTheCallAsks) {
  for (const auto& [type, feed] : feeds()) {
    if (type == "GHMC" || type == "GHMR" || feed.keys.find("use_mask") != std::string::npos) continue;
    SCOPED_TRACE(type + " " + feed.keys);
    const auto loss =
        loss_of("type: " + type + (feed.keys.empty() ? "" : ", " + feed.keys) + ", loss_weight: 2");
    const Tensor pred = feed.kind == Feed::kBoxes ? extreme_boxes() : uniform({kRows, 4}, 0.1, 0.9, 1);
    LossWeights weights;
    weights.reduction_override = Reduction::kNone;
    const Tensor each = (*loss)(pred, feed.target, weights).value();
    const double sum_of_each = sum(each).value().item();
    weights.reduction_override = Reduction::kSum;
    EXPECT_NEAR((*loss)(pred, feed.target, weights).value().item(), sum_of_each, 1e-5 * sum_of_each);
    EXPECT_NEAR((*loss)(pred, feed.target).value().item(), sum_of_each / static_cast<double>(each.numel()),
                1e-5 * sum_of_each);
    EXPECT_NEAR((*loss)(pred, feed.target, {{}, 3.0}).value().item(), sum_of_each / 3, 1e-5 * sum_of_each);
    const LossWeights half{Tensor::full({kRows}, 0.5, DType::kF32), 3.0};
    EXPECT_NEAR((*loss)(pred, feed.target, half).value().item(), sum_of_each / 6, 1e-5 * sum_of_each);
    EXPECT_EQ((*loss)(pred, feed.target, {{}, 0.0}).value().item(), 0);
  }
}

}  // namespace
}  // namespace osprey::testing
