#include "losses/balanced_l1_loss.h"

#include "core/autograd/gradcheck.h"
#include "tests/losses/loss_golden.h"

namespace osprey {
namespace {

TEST(BalancedL1Loss, GradientMatchesFiniteDifferences) {
  const auto loss = testing::loss_of("type: BalancedL1Loss, beta: 0.7, alpha: 0.4");
  const Tensor target = testing::uniform({5, 4}, -1, 1, 2).to(DType::kF64);
  EXPECT_GRADCHECK([&](const Variables& in) { return (*loss)(in[0], target); },
                   {testing::uniform({5, 4}, -2, 2, 1).to(DType::kF64)});
}

TEST(BalancedL1Loss, NoRowsCostNothing) {
  const auto loss = testing::loss_of("type: BalancedL1Loss");
  EXPECT_EQ((*loss)(Tensor({0, 4}, DType::kF32), Tensor({0, 4}, DType::kF32)).value().item(), 0);
}

}  // namespace
}  // namespace osprey
