#include "losses/l1_loss.h"

#include "tests/losses/loss_golden.h"

namespace osprey {
namespace {

TEST(L1Loss, HasNoGradientWhereTheTargetIsMet) {
  const Variable pred(Tensor::from<float>({1, 2, 3, 4}, {1, 4}), true);
  const Tensor target = Tensor::from<float>({1, 1, 4, 4}, {1, 4});
  (*testing::loss_of("type: L1Loss, reduction: sum"))(pred, target).backward();
  EXPECT_EQ(pred.grad().to_doubles(), (std::vector<double>{0, 1, -1, 0}));
}

}  // namespace
}  // namespace osprey
