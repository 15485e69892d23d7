#include "losses/cross_entropy_loss.h"

#include <cmath>

#include "core/autograd/gradcheck.h"
#include "core/ops/losses.h"
#include "tests/losses/loss_golden.h"

namespace osprey {
namespace {

using testing::loss_of;

TEST(CrossEntropyLoss, IgnoredPixelsLeaveTheMeanWhenAsked) {
  const auto loss = loss_of("type: CrossEntropyLoss, ignore_index: 255, avg_non_ignore: true");
  const auto plain = loss_of("type: CrossEntropyLoss, ignore_index: 255");
  const Tensor pred = testing::uniform({4, 3}, -2, 2, 1);
  const Tensor labels = Tensor::from<uint8_t>({0, 255, 2, 255}, {4});
  EXPECT_NEAR((*loss)(pred, labels).value().item(), 2 * (*plain)(pred, labels).value().item(), 1e-6);
}

TEST(CrossEntropyLoss, EverythingIgnoredIsZeroNotNaN) {
  for (const std::string kind : {"false", "true"}) {
    const auto loss =
        loss_of("type: CrossEntropyLoss, ignore_index: 255, avg_non_ignore: true, use_sigmoid: " + kind);
    const Variable pred(testing::uniform({4, 3}, -2, 2, 1), true);
    const Variable value = (*loss)(pred, Tensor::full({4}, 255, DType::kU8));
    EXPECT_EQ(value.value().item(), 0);
    value.backward();
    EXPECT_EQ(testing::max_abs_diff(pred.grad(), Tensor::zeros_like(pred.grad())), 0);
  }
}

TEST(CrossEntropyLoss, NoRowsCostNothing) {
  for (const std::string keys : {"use_sigmoid: false", "use_sigmoid: true"}) {
    const Variable pred(Tensor({0, 4}, DType::kF32), true);
    const Variable loss = (*loss_of("type: CrossEntropyLoss, " + keys))(pred, Tensor({0}, DType::kI64));
    EXPECT_EQ(loss.value().item(), 0);
    loss.backward();
  }
  const Variable masks(Tensor({0, 28, 28}, DType::kF32), true);
  EXPECT_EQ((*loss_of("type: CrossEntropyLoss, use_mask: true"))(masks, Tensor({0, 28, 28}, DType::kU8))
                .value()
                .item(),
            0);
}

TEST(CrossEntropyLoss, ALabelOutOfRangeIsAnErrorWithSoftmaxAndBackgroundWithSigmoid) {
  const Tensor pred = testing::uniform({1, 3}, -1, 1, 1), label = Tensor::from<int64_t>({200}, {1});
  EXPECT_THROW((*loss_of("type: CrossEntropyLoss"))(pred, label), Error);
  const double expected = bce_with_logits(pred, Tensor::zeros({1, 3}, DType::kF32)).value().to_doubles()[0];
  const Tensor loss =
      (*loss_of("type: CrossEntropyLoss, use_sigmoid: true, reduction: none"))(pred, label).value();
  EXPECT_EQ(loss.to_doubles()[0], expected);
}

TEST(CrossEntropyLoss, SigmoidIgnoresOnlyAGivenIndex) {
  const Tensor pred = testing::uniform({2, 3}, -1, 1, 2), label = Tensor::from<int64_t>({-1, 0}, {2});
  const auto with = loss_of("type: CrossEntropyLoss, use_sigmoid: true, reduction: none, ignore_index: -1");
  const auto without = loss_of("type: CrossEntropyLoss, use_sigmoid: true, reduction: none");
  EXPECT_EQ((*with)(pred, label).value().to_doubles()[0], 0);
  EXPECT_GT((*without)(pred, label).value().to_doubles()[0], 0);
}

TEST(CrossEntropyLoss, RefusesContradictions) {
  EXPECT_THROW(loss_of("type: CrossEntropyLoss, use_sigmoid: true, use_mask: true"), UserError);
  EXPECT_THROW(loss_of("type: CrossEntropyLoss, use_mask: true, reduction: sum"), UserError);
  EXPECT_THROW(loss_of("type: CrossEntropyLoss, use_mask: true, class_weight: [1, 2]"), UserError);
}

}  // namespace
}  // namespace osprey
