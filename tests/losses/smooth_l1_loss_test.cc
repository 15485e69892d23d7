#include "losses/smooth_l1_loss.h"

#include "core/autograd/gradcheck.h"
#include "tests/losses/loss_golden.h"

namespace osprey {
namespace {

TEST(SmoothL1Loss, GradientMatchesFiniteDifferences) {
  const auto loss = testing::loss_of("type: SmoothL1Loss, beta: 0.5, loss_weight: 2");
  const Tensor target = testing::uniform({5, 4}, -1, 1, 2).to(DType::kF64);
  const LossWeights weights{testing::uniform({5}, 0, 1, 3), 7.5};
  EXPECT_GRADCHECK([&](const Variables& in) { return (*loss)(in[0], target, weights); },
                   {testing::uniform({5, 4}, -1, 1, 1).to(DType::kF64)});
}

TEST(SmoothL1Loss, NoBoxesCostNothing) {
  const Variable pred(Tensor({0, 4}, DType::kF32), true);
  const Variable loss = (*testing::loss_of("type: SmoothL1Loss"))(pred, Tensor({0, 4}, DType::kF32));
  EXPECT_EQ(loss.value().item(), 0);
  loss.backward();
  EXPECT_EQ(pred.grad().shape(), (Shape{0, 4}));
}

TEST(SmoothL1Loss, RefusesAKneeAtZero) {
  EXPECT_THROW(testing::loss_of("type: SmoothL1Loss, beta: 0"), UserError);
}

}  // namespace
}  // namespace osprey
