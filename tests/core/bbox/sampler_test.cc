#include "core/bbox/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/golden.h"

namespace osprey {
namespace {

std::unique_ptr<BBoxSampler> sampler(const std::string& keys) {
  return build<BBoxSampler>(parse_config(keys));
}

// 40 boxes: 0..9 belong to ground truths 0 and 1 in turn, 10..34 are background, 35..39 ignored.
struct Case {
  Tensor bboxes = testing::uniform({40, 4}, 0, 100, 1);
  Tensor gt_bboxes = testing::uniform({2, 4}, 0, 100, 2);
  Tensor gt_labels = Tensor::from<int64_t>({7, 8}, {2});
  AssignResult assigned;

  Case() {
    std::vector<int64_t> gt_inds(40, -1), labels(40, -1);
    for (int64_t i = 0; i < 10; ++i) {
      gt_inds[i] = 1 + i % 2;
      labels[i] = 7 + i % 2;
    }
    std::fill(gt_inds.begin() + 10, gt_inds.begin() + 35, 0);
    assigned = {2, Tensor::from(gt_inds, {40}), Tensor::zeros({40}, DType::kF32), Tensor::from(labels, {40})};
  }

  SamplingResult sample(const std::string& keys, uint64_t seed = 5) const {
    CounterRng rng(seed);
    return sampler(keys)->sample(assigned, bboxes, gt_bboxes, gt_labels, rng);
  }
};

TEST(RandomSampler, FillsItsQuotasWithAscendingIndices) {
  const SamplingResult result =
      Case().sample("{type: RandomSampler, num: 16, pos_fraction: 0.25, add_gt_as_proposals: false}");
  const auto pos = result.pos_inds.to_vector<int64_t>(), neg = result.neg_inds.to_vector<int64_t>();
  ASSERT_EQ(pos.size(), 4u);
  ASSERT_EQ(neg.size(), 12u);
  EXPECT_TRUE(std::is_sorted(pos.begin(), pos.end()) && std::is_sorted(neg.begin(), neg.end()));
  EXPECT_EQ(std::adjacent_find(neg.begin(), neg.end()), neg.end());
  EXPECT_LT(pos.back(), 10);
  EXPECT_TRUE(neg.front() >= 10 && neg.back() < 35);
}

TEST(RandomSampler, GathersWhatBelongsToTheChosenBoxes) {
  const Case c;
  const SamplingResult result =
      c.sample("{type: RandomSampler, num: 16, pos_fraction: 0.25, add_gt_as_proposals: false}");
  for (int64_t i = 0; i < 4; ++i) {
    const int64_t row = result.pos_inds.data<int64_t>()[i];
    EXPECT_TRUE(bitwise_equal(result.pos_bboxes[i], c.bboxes[row]));
    EXPECT_TRUE(bitwise_equal(result.pos_gt_bboxes[i], c.gt_bboxes[row % 2]));
    EXPECT_EQ(result.pos_assigned_gt_inds.data<int64_t>()[i], row % 2);
    EXPECT_EQ(result.pos_gt_labels.data<int64_t>()[i], 7 + row % 2);
    EXPECT_EQ(result.pos_is_gt.data<uint8_t>()[i], 0);
  }
  EXPECT_EQ(result.bboxes().shape(), (Shape{16, 4}));
  EXPECT_TRUE(bitwise_equal(result.bboxes().slice(4, 16), result.neg_bboxes));
}

TEST(RandomSampler, PrependsGroundTruths) {
  const Case c;
  const SamplingResult result = c.sample("{type: RandomSampler, num: 512, pos_fraction: 0.25}");
  EXPECT_EQ(result.pos_inds.numel(), 12);
  EXPECT_EQ(result.neg_inds.data<int64_t>()[0], 12);
  EXPECT_TRUE(bitwise_equal(result.pos_bboxes.slice(0, 2), c.gt_bboxes));
  std::vector<uint8_t> expected(12, 0);
  expected[0] = expected[1] = 1;
  EXPECT_EQ(result.pos_is_gt.to_vector<uint8_t>(), expected);
  EXPECT_EQ(result.pos_gt_labels.data<int64_t>()[1], 8);
}

TEST(RandomSampler, BoundsNegativesPerPositive) {
  EXPECT_EQ(Case()
                .sample("{type: RandomSampler, num: 30, pos_fraction: 0.1, neg_pos_ub: 2, "
                        "add_gt_as_proposals: false}")
                .neg_inds.numel(),
            6);
  EXPECT_EQ(Case()
                .sample("{type: RandomSampler, num: 30, pos_fraction: 0, neg_pos_ub: 3, "
                        "add_gt_as_proposals: false}")
                .neg_inds.numel(),
            3);
}

TEST(RandomSampler, DrawsOnlyWhenThereAreMoreCandidatesThanPlaces) {
  const Case c;
  CounterRng rng(1);
  const uint64_t start = rng.state().position;
  sampler("{type: RandomSampler, num: 100000, pos_fraction: 0.5}")
      ->sample(c.assigned, c.bboxes, c.gt_bboxes, c.gt_labels, rng);
  EXPECT_EQ(rng.state().position, start);
}

TEST(RandomSampler, DependsOnTheSeedAlone) {
  const std::string keys = "{type: RandomSampler, num: 16, pos_fraction: 0.25}";
  const Case c;
  EXPECT_TRUE(bitwise_equal(c.sample(keys, 1).neg_inds, c.sample(keys, 1).neg_inds));
  EXPECT_FALSE(bitwise_equal(c.sample(keys, 1).neg_inds, c.sample(keys, 2).neg_inds));
}

TEST(RandomSampler, EveryCandidateIsEquallyLikely) {
  const Case c;
  std::vector<int> drawn(40, 0);
  CounterRng rng(3);
  const auto random = sampler("{type: RandomSampler, num: 5, pos_fraction: 0, add_gt_as_proposals: false}");
  for (int trial = 0; trial < 2000; ++trial) {
    const SamplingResult result = random->sample(c.assigned, c.bboxes, c.gt_bboxes, c.gt_labels, rng);
    for (const int64_t row : result.neg_inds.to_vector<int64_t>()) ++drawn[row];
  }
  // Binomial(2000, 1/5): mean 400, standard deviation 18; six of them.
  for (int i = 10; i < 35; ++i) EXPECT_NEAR(drawn[i], 400, 108) << i;
}

TEST(RandomSampler, NoBoxesAndNoGroundTruthGiveNothing) {
  const Tensor none({0, 4}, DType::kF32);
  const AssignResult assigned{0, Tensor({0}, DType::kI64), Tensor({0}, DType::kF32), {}};
  CounterRng rng(1);
  const SamplingResult result =
      sampler("{type: RandomSampler, num: 8, pos_fraction: 0.5}")->sample(assigned, none, none, {}, rng);
  EXPECT_EQ(result.bboxes().shape(), (Shape{0, 4}));
  EXPECT_EQ(result.pos_gt_bboxes.shape(), (Shape{0, 4}));
  EXPECT_FALSE(result.pos_gt_labels.defined());
}

TEST(PseudoSampler, TakesEverythingButTheIgnored) {
  const SamplingResult result = Case().sample("{type: PseudoSampler}");
  EXPECT_EQ(result.pos_inds.numel(), 10);
  EXPECT_EQ(result.neg_inds.numel(), 25);
}

}  // namespace
}  // namespace osprey
