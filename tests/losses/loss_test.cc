#include "losses/loss.h"

#include "tests/losses/loss_golden.h"

namespace osprey {
namespace {

const Variable kLoss(Tensor::from<float>({1, 2, 3, 4, 5, 6}, {3, 2}));
const Tensor kRowWeight = Tensor::from<float>({1, 0, 2}, {3});

double reduced(Reduction reduction, const LossWeights& weights) {
  return weight_reduce_loss(kLoss, reduction, weights).value().item();
}

TEST(WeightReduceLoss, MeanDividesByElementsOrByAvgFactor) {
  EXPECT_DOUBLE_EQ(reduced(Reduction::kMean, {}), 3.5);
  EXPECT_NEAR(reduced(Reduction::kMean, {kRowWeight, {}}), 25.0 / 6, 1e-6);  // whatever the weights
  EXPECT_DOUBLE_EQ(reduced(Reduction::kMean, {kRowWeight, 5.0}), 5);
  EXPECT_DOUBLE_EQ(reduced(Reduction::kSum, {kRowWeight, {}}), 25);
  EXPECT_EQ(weight_reduce_loss(kLoss, Reduction::kNone, {kRowWeight, {}}).value().to_doubles(),
            (std::vector<double>{1, 2, 0, 0, 10, 12}));
}

TEST(WeightReduceLoss, AnEmptyMeanIsZero) {
  EXPECT_EQ(reduced(Reduction::kMean, {kRowWeight, 0.0}), 0);
  EXPECT_EQ(weight_reduce_loss(Variable(Tensor({0, 4}, DType::kF32)), Reduction::kMean, {}).value().item(),
            0);
}

TEST(WeightReduceLoss, RefusesAvgFactorWithSumAndForeignShapes) {
  EXPECT_THROW(reduced(Reduction::kSum, {{}, 5.0}), Error);
  EXPECT_THROW(reduced(Reduction::kMean, {Tensor::full({2}, 1, DType::kF32), {}}), Error);
}

TEST(Loss, IsComputedInF32WhateverComesIn) {
  const Variable pred(Tensor::full({2, 4}, 60000, DType::kF16), true);
  const Variable loss =
      (*testing::loss_of("type: L1Loss, reduction: sum"))(pred, Tensor::zeros({2, 4}, DType::kF32));
  EXPECT_EQ(loss.dtype(), DType::kF32);
  EXPECT_EQ(loss.value().item(), 8.0 * 60000);  // far beyond what f16 can hold
  loss.backward();
  EXPECT_EQ(pred.grad().dtype(), DType::kF16);
}

TEST(Loss, AnUnknownReductionIsNamed) {
  EXPECT_THROW(testing::loss_of("type: L1Loss, reduction: average"), UserError);
  EXPECT_THROW(testing::loss_of("type: L2Loss"), UserError);
}

}  // namespace
}  // namespace osprey
