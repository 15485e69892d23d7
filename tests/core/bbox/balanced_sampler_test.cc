#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/bbox/sampler.h"
#include "tests/devices.h"
#include "tests/golden.h"

// OHEMSampler, InstanceBalancedPosSampler, IoUBalancedNegSampler, CombinedSampler.
namespace osprey {
namespace {

std::unique_ptr<BBoxSampler> sampler(const std::string& keys) {
  return build<BBoxSampler>(parse_config("{" + keys + "}"));
}

// 400 boxes: 0..99 belong to ground truths 0, 1, 2 (80, 15 and 5 of them), 100..399 are background with
// overlaps 0 (100), up to 0.15 (150), up to 0.3 (40) and up to 0.45 (10).
struct Case {
  static constexpr int64_t kBoxes = 400, kPositives = 100;
  Tensor bboxes = testing::uniform({kBoxes, 4}, 0, 100, 1);
  Tensor gt_bboxes = testing::uniform({3, 4}, 0, 100, 2);
  Tensor gt_labels = Tensor::from<int64_t>({7, 8, 9}, {3});
  std::vector<float> overlaps;
  AssignResult assigned;
  Device device;

  explicit Case(Device device = kCPU) : device(device) {
    std::vector<int64_t> gt_inds(kBoxes, 0), labels(kBoxes, -1);
    overlaps.assign(kBoxes, 0);
    for (int64_t i = 0; i < kPositives; ++i) {
      gt_inds[i] = i < 80 ? 1 : i < 95 ? 2 : 3;
      labels[i] = 6 + gt_inds[i];
      overlaps[i] = 0.9f;
    }
    for (int64_t i = 200; i < kBoxes; ++i) {
      overlaps[i] = i < 350 ? 0.001f * static_cast<float>(i - 199) : i < 390 ? 0.2f : 0.4f;
    }
    assigned = {3, Tensor::from(gt_inds, {kBoxes}).to(device), Tensor::from(overlaps, {kBoxes}).to(device),
                Tensor::from(labels, {kBoxes}).to(device)};
  }

  SamplingResult sample(const std::string& keys, uint64_t seed = 5, const HardnessOf& hardness = {}) const {
    CounterRng rng(seed);
    return sampler(keys + ", add_gt_as_proposals: false")
        ->sample_by_hardness(assigned, bboxes.to(device), gt_bboxes.to(device), gt_labels.to(device), rng,
                             hardness);
  }
};

void expect_distinct_and_ascending(const Tensor& inds) {
  const auto rows = inds.to_vector<int64_t>();
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
  EXPECT_EQ(std::adjacent_find(rows.begin(), rows.end()), rows.end());
}

std::map<int64_t, int64_t> positives_by_gt(const SamplingResult& result) {
  std::map<int64_t, int64_t> counts;
  for (const int64_t gt : result.pos_assigned_gt_inds.to_vector<int64_t>()) ++counts[gt];
  return counts;
}

class Samplers : public ::testing::TestWithParam<Device> {};
INSTANTIATE_TEST_SUITE_P(Devices, Samplers, ::testing::ValuesIn(testing::devices_in_build()),
                         [](const auto& info) { return testing::device_name(info.param); });

TEST_P(Samplers, EveryGroundTruthGetsItsShareOfThePositives) {
  const Case c(GetParam());
  const std::string keys = "type: InstanceBalancedPosSampler, num: 60, pos_fraction: 0.5";
  const SamplingResult result = c.sample(keys);
  expect_distinct_and_ascending(result.pos_inds);
  ASSERT_EQ(result.pos_inds.numel(), 30);
  // 11 of each at first; the third has only 5, so that one or two more come from anywhere.
  const auto counts = positives_by_gt(result);
  EXPECT_EQ(counts.at(2), 5);
  EXPECT_GE(counts.at(1), 11);
  EXPECT_LE(counts.at(0), 30 - 11 - 5);
  EXPECT_EQ(result.neg_inds.numel(), 30);
}

TEST_P(Samplers, FewPositivesAreAllTaken) {
  const Case c(GetParam());
  EXPECT_EQ(c.sample("type: InstanceBalancedPosSampler, num: 400, pos_fraction: 0.25").pos_inds.numel(), 100);
}

TEST_P(Samplers, NegativesAreSpreadOverTheirOverlaps) {
  const Case c(GetParam());
  // Bins [0, 0.3), [0.3, 0.6), [0.6, 0.9): the largest overlap of any box is 0.9.
  const SamplingResult result =
      c.sample("type: IoUBalancedNegSampler, num: 60, pos_fraction: 0, floor_thr: -1, num_bins: 3");
  expect_distinct_and_ascending(result.neg_inds);
  const auto neg = result.neg_inds.to_vector<int64_t>();
  ASSERT_EQ(neg.size(), 60u);
  // Ten lie in the second bin, and all are wanted (20); 3 % of the negatives, a sixth of the sample.
  EXPECT_EQ(std::count_if(neg.begin(), neg.end(), [](int64_t row) { return row >= 390; }), 10);
}

TEST_P(Samplers, AFloorFractionComesFromBelowTheFloor) {
  const Case c(GetParam());
  for (const char* floor : {"0", "0.1"}) {
    const SamplingResult result =
        c.sample(std::string("type: IoUBalancedNegSampler, num: 40, pos_fraction: 0, floor_fraction: 0.25, "
                             "floor_thr: ") +
                 floor);
    const double threshold = std::stod(floor);
    int64_t below = 0;
    for (const int64_t row : result.neg_inds.to_vector<int64_t>()) {
      below += threshold == 0 ? c.overlaps[row] == 0 : c.overlaps[row] < threshold;
    }
    EXPECT_EQ(below, 10) << floor;
  }
}

TEST_P(Samplers, OneBinIsAPlainDraw) {
  const Case c(GetParam());
  const SamplingResult result =
      c.sample("type: IoUBalancedNegSampler, num: 100, pos_fraction: 0, num_bins: 1");
  EXPECT_EQ(result.neg_inds.numel(), 100);
}

TEST_P(Samplers, PartsOfACombinedSamplerDoWhatTheyDoAlone) {
  const Case c(GetParam());
  const SamplingResult result = c.sample(
      "type: CombinedSampler, num: 90, pos_fraction: 0.34, pos_sampler: {type: "
      "InstanceBalancedPosSampler}, neg_sampler: {type: IoUBalancedNegSampler, floor_thr: -1}");
  EXPECT_EQ(result.pos_inds.numel(), 30);
  EXPECT_EQ(result.neg_inds.numel(), 60);
  EXPECT_EQ(positives_by_gt(result).at(2), 5);
  const auto neg = result.neg_inds.to_vector<int64_t>();
  EXPECT_EQ(std::count_if(neg.begin(), neg.end(), [](int64_t row) { return row >= 390; }), 10);
  const SamplingResult random = c.sample(
      "type: CombinedSampler, num: 90, pos_fraction: 0.34, pos_sampler: {type: RandomSampler}, "
      "neg_sampler: {type: RandomSampler}");
  EXPECT_EQ(random.pos_inds.numel() + random.neg_inds.numel(), 90);
}

// The head is most wrong about boxes with a small first coordinate, and about class 8.
TEST_P(Samplers, HardExamplesComeFirst) {
  const Case c(GetParam());
  int64_t asked = 0;
  const HardnessOf hardness = [&](const Tensor& bboxes, const Tensor& labels) {
    EXPECT_EQ(bboxes.device(), GetParam());
    ++asked;
    std::vector<float> losses;
    const auto boxes = bboxes.to_vector<float>();
    const auto classes = labels.defined() ? labels.to_vector<int64_t>() : std::vector<int64_t>();
    for (int64_t i = 0; i < bboxes.dim(0); ++i) {
      losses.push_back(-boxes[i * 4] + (!classes.empty() && classes[i] == 8 ? 1000.0f : 0.0f));
    }
    return Tensor::from(losses, {bboxes.dim(0)}).to(bboxes.device());
  };
  const SamplingResult result = c.sample("type: OHEMSampler, num: 50, pos_fraction: 0.4", 5, hardness);
  EXPECT_EQ(asked, 2);
  const auto hardest = [&](int64_t begin, int64_t end, int64_t bonus_begin, int64_t bonus_end, size_t count) {
    std::vector<std::pair<float, int64_t>> order;
    for (int64_t i = begin; i < end; ++i) {
      const bool bonus = i >= bonus_begin && i < bonus_end;
      order.emplace_back(c.bboxes.data<float>()[i * 4] - (bonus ? 1000.0f : 0.0f), i);
    }
    std::sort(order.begin(), order.end());
    std::vector<int64_t> rows;
    for (size_t i = 0; i < count; ++i) rows.push_back(order[i].second);
    std::sort(rows.begin(), rows.end());
    return rows;
  };
  EXPECT_EQ(result.pos_inds.to_vector<int64_t>(), hardest(0, 100, 80, 95, 20));
  EXPECT_EQ(result.neg_inds.to_vector<int64_t>(), hardest(100, 400, 0, 0, 30));
}

TEST(OHEMSampler, AsksNobodyWhenEverythingFits) {
  const Case c;
  const SamplingResult result = c.sample("type: OHEMSampler, num: 1000, pos_fraction: 0.25", 5, {});
  EXPECT_EQ(result.pos_inds.numel(), 100);
  EXPECT_EQ(result.neg_inds.numel(), 300);
}

TEST(OHEMSampler, WithoutAHeadSaysWhereItBelongs) {
  try {
    Case().sample("type: OHEMSampler, num: 50, pos_fraction: 0.4");
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("train_cfg.rcnn.sampler"), std::string::npos) << error.what();
  }
}

TEST(SamplersToo, EveryTypeIsReproducible) {
  const Case c;
  for (const std::string type :
       {"InstanceBalancedPosSampler", "IoUBalancedNegSampler",
        "CombinedSampler, pos_sampler: {type: RandomSampler}, neg_sampler: {type: IoUBalancedNegSampler}"}) {
    const std::string keys = "type: " + type + ", num: 60, pos_fraction: 0.5";
    EXPECT_TRUE(bitwise_equal(c.sample(keys, 1).neg_inds, c.sample(keys, 1).neg_inds)) << type;
    EXPECT_FALSE(bitwise_equal(c.sample(keys, 1).neg_inds, c.sample(keys, 2).neg_inds)) << type;
  }
}

TEST(SamplersToo, TakeGroundTruthsAsProposalsAndBoundNegatives) {
  const Case c;
  CounterRng rng(1);
  const SamplingResult result =
      sampler("type: IoUBalancedNegSampler, num: 1000, pos_fraction: 0.5, neg_pos_ub: 2")
          ->sample(c.assigned, c.bboxes, c.gt_bboxes, c.gt_labels, rng);
  EXPECT_EQ(result.pos_inds.numel(), 103);
  EXPECT_EQ(result.neg_inds.numel(), 206);
  EXPECT_EQ(result.pos_is_gt.to_vector<uint8_t>()[2], 1);
  EXPECT_EQ(result.pos_is_gt.to_vector<uint8_t>()[3], 0);
}

TEST(SamplersToo, RefuseWhatHasNoMeaning) {
  for (const char* keys :
       {"type: IoUBalancedNegSampler, num: 8, pos_fraction: 0.5, floor_thr: -0.5",
        "type: IoUBalancedNegSampler, num: 8, pos_fraction: 0.5, floor_fraction: 2",
        "type: IoUBalancedNegSampler, num: 8, pos_fraction: 0.5, num_bins: 0",
        "type: InstanceBalancedPosSampler, num: 8, pos_fraction: 1.5", "type: OHEMSampler, pos_fraction: 0.5",
        "type: CombinedSampler, num: 8, pos_fraction: 0.5, pos_sampler: {type: RandomSampler}",
        "type: CombinedSampler, num: 8, pos_fraction: 0.5, pos_sampler: {type: PseudoSampler}, neg_sampler: "
        "{type: RandomSampler}"}) {
    EXPECT_THROW(sampler(keys), UserError) << keys;
  }
}

}  // namespace
}  // namespace osprey
