#include "losses/box_loss.h"

#include <cmath>

#include "core/autograd/gradcheck.h"
#include "tests/losses/loss_golden.h"

// IoULoss, GIoULoss, DIoULoss, CIoULoss, BoundedIoULoss.
namespace osprey {
namespace {

const char* const kTypes[] = {"IoULoss", "GIoULoss", "DIoULoss", "CIoULoss", "BoundedIoULoss"};

// Partly overlapping, nested, disjoint; no ties, at which differences are not a gradient.
const Tensor kPred = Tensor::from<double>({1, 2, 9, 11, 3, 3, 6, 7, 20, 21, 30, 35, 0, 0, 4.5, 3}, {4, 4});
const Tensor kTarget =
    Tensor::from<double>({2, 1.5, 10, 9, 1, 1, 12, 13, 1, 2, 8, 9, 0.5, 0.7, 5, 6}, {4, 4});

TEST(BoxLoss, GradientsMatchFiniteDifferences) {
  for (const std::string type : kTypes) {
    SCOPED_TRACE(type);
    const auto loss = testing::loss_of("type: " + type + ", reduction: sum");
    const LossWeights weights{Tensor::from<double>({1, 0.5, 2, 3}, {4}), {}};
    EXPECT_GRADCHECK([&](const Variables& in) { return (*loss)(in[0], kTarget, weights); }, {kPred});
  }
  const auto linear = testing::loss_of("type: IoULoss, linear: true");
  EXPECT_GRADCHECK([&](const Variables& in) { return (*linear)(in[0], kTarget); }, {kPred});
}

TEST(BoxLoss, IdenticalEmptyAndHugeBoxesAreFinite) {
  const Tensor boxes = Tensor::from<float>({1, 2, 5, 6, 3, 3, 3, 3, 0, 0, 1e4f, 1e4f}, {3, 4});
  const Tensor others = Tensor::from<float>({1, 2, 5, 6, 3, 3, 3, 3, 0, 0, 1, 1}, {3, 4});
  for (const std::string type : kTypes) {
    SCOPED_TRACE(type);
    const Variable pred(boxes, true);
    const Variable loss = (*testing::loss_of("type: " + type + ", reduction: none"))(pred, others);
    EXPECT_TRUE(all_finite(loss.value()));
    EXPECT_NEAR(loss.value().to_doubles()[0], 0, 1e-5);
    loss.backward(Tensor::full(loss.shape(), 1, DType::kF32));
    EXPECT_TRUE(all_finite(pred.grad()));
  }
}

TEST(BoxLoss, NaNStaysNaNAndNoBoxesCostNothing) {
  const Tensor target = Tensor::from<float>({1, 2, 5, 6}, {1, 4}), none({0, 4}, DType::kF32);
  for (const std::string type : kTypes) {
    SCOPED_TRACE(type);
    const auto loss = testing::loss_of("type: " + type);
    for (int k = 0; k < 4; ++k) {
      Tensor pred = target.clone();
      pred.mutable_data<float>()[k] = std::nanf("");
      EXPECT_TRUE(std::isnan((*loss)(pred, target).value().item())) << k;
    }
    EXPECT_EQ((*loss)(none, none).value().item(), 0);
  }
}

}  // namespace
}  // namespace osprey
