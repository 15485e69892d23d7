#include "losses/mse_loss.h"

#include "core/autograd/gradcheck.h"
#include "tests/losses/loss_golden.h"

namespace osprey {
namespace {

TEST(MSELoss, GradientMatchesFiniteDifferences) {
  const auto loss = testing::loss_of("type: MSELoss");
  const Tensor target = testing::uniform({5, 4}, -1, 1, 2).to(DType::kF64);
  EXPECT_GRADCHECK([&](const Variables& in) { return (*loss)(in[0], target); },
                   {testing::uniform({5, 4}, -2, 2, 1).to(DType::kF64)});
}

TEST(MSELoss, NoRowsCostNothing) {
  const auto loss = testing::loss_of("type: MSELoss");
  EXPECT_EQ((*loss)(Tensor({0, 4}, DType::kF32), Tensor({0, 4}, DType::kF32)).value().item(), 0);
}

}  // namespace
}  // namespace osprey
