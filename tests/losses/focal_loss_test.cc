#include "losses/focal_loss.h"

#include "core/autograd/gradcheck.h"
#include "core/ops/losses.h"
#include "tests/losses/loss_golden.h"

namespace osprey {
namespace {

TEST(FocalLoss, GradientMatchesFiniteDifferences) {
  const Tensor x = testing::uniform({6, 3}, -4, 4, 1).to(DType::kF64);
  const Tensor labels = Tensor::from<int64_t>({0, 1, 2, 3, 1, 3}, {6});
  for (const char* gamma : {"0", "0.5", "2"}) {
    const auto loss = testing::loss_of(std::string("type: FocalLoss, alpha: 0.4, gamma: ") + gamma);
    EXPECT_GRADCHECK([&](const Variables& in) { return (*loss)(in[0], labels); }, {x});
  }
}

// The logit of mmcv issue 1488: its kernel took the logarithm of 0 in half.
TEST(FocalLoss, IsFiniteInHalfAndEqualToF64) {
  const Tensor x =
      Tensor::from<float>({-20, -9.4f, 0, 8.3f, 8.4f, 9.39f, 20, 6e4f, -6e4f}, {9, 1}).to(DType::kF16);
  for (const double target : {0.0, 1.0}) {
    const Tensor t = Tensor::full({9, 1}, target, DType::kF32);
    const Variable half(x, true), exact(x.to(DType::kF64), true);
    const auto loss = testing::loss_of("type: FocalLoss, reduction: none");
    const Variable a = (*loss)(half, t), b = (*loss)(exact, t);
    EXPECT_TENSOR_NEAR(a.value(), b.value(), 1e-6, 1e-3);
    a.backward(Tensor::full({9, 1}, 1, DType::kF32));
    b.backward(Tensor::full({9, 1}, 1, DType::kF64));
    EXPECT_TENSOR_NEAR(half.grad(), exact.grad(), 1e-6, 1e-3);
  }
}

TEST(FocalLoss, NoRowsCostNothingAndSoftmaxIsRefused) {
  const auto loss = testing::loss_of("type: FocalLoss");
  EXPECT_EQ((*loss)(Tensor({0, 4}, DType::kF32), Tensor({0}, DType::kI64)).value().item(), 0);
  EXPECT_THROW(testing::loss_of("type: FocalLoss, use_sigmoid: false"), UserError);
}

}  // namespace
}  // namespace osprey
