#include "losses/cross_entropy_loss.h"

#include <cmath>

#include "core/autograd/gradcheck.h"
#include "core/ops/losses.h"
#include "tests/losses/loss_golden.h"

namespace osprey {
namespace {

using testing::Golden;
using testing::loss_of;
using testing::nchw_to_nhwc;

TEST(CrossEntropyLoss, SoftmaxAndSigmoidAgreeWithReference) {
  EXPECT_EQ(testing::expect_golden_losses("ops/losses_cls", "CrossEntropyLoss", "ce_softmax"), 11);
  EXPECT_EQ(testing::expect_golden_losses("ops/losses_cls", "CrossEntropyLoss", "ce_sigmoid"), 12);
}

// pred (n, c, h, w) -> the label's channel (n, h, w), which is what the loss gets.
Tensor labelled_channel(const Tensor& pred, const Tensor& labels) {
  Tensors planes;
  for (int64_t i = 0; i < pred.dim(0); ++i) {
    const int64_t label = labels.data<int64_t>()[i];
    planes.push_back(pred[i].slice(label, label + 1));
  }
  return concat(planes);
}

TEST(CrossEntropyLoss, MaskAgreesWithReference) {
  const Golden golden = Golden::open("ops/losses_cls");
  for (const std::string name : {"ce_mask", "ce_mask_agnostic"}) {
    SCOPED_TRACE(name);
    const bool agnostic = golden.tensor(name + "/pred").dim(1) == 1;
    const Tensor labels = agnostic ? Tensor::zeros({5}, DType::kI64) : golden.tensor(name + "/label");
    const Variable pred(labelled_channel(golden.tensor(name + "/pred"), labels), true);
    const Variable loss = (*loss_of(golden, name))(pred, golden.tensor(name + "/target"));
    EXPECT_EQ(loss.shape(), Shape{});
    EXPECT_TENSOR_NEAR(loss.value().reshape({1}), golden.tensor(name + "/loss"), 1e-6, 1e-5);
    loss.backward();
    EXPECT_TENSOR_NEAR(pred.grad(), labelled_channel(golden.tensor(name + "/grad_pred"), labels), 1e-7, 1e-5);
  }
}

TEST(CrossEntropyLoss, IgnoredPixelsLeaveTheMeanWhenAsked) {
  const Golden golden = Golden::open("ops/losses_cls");
  const auto loss = loss_of("type: CrossEntropyLoss, ignore_index: 255, avg_non_ignore: true");
  const Variable pred(nchw_to_nhwc(golden.tensor("seg_ce_ignore255/pred")), true);
  const Variable value = (*loss)(pred, golden.tensor("seg_ce_ignore255/label"));
  EXPECT_NEAR(value.value().item(), golden.tensor("seg_ce_ignore255/loss").item(), 1e-6);
  value.backward();
  EXPECT_TENSOR_NEAR(pred.grad(), nchw_to_nhwc(golden.tensor("seg_ce_ignore255/grad_pred")), 1e-7, 1e-5);
}

TEST(CrossEntropyLoss, EverythingIgnoredIsZeroNotNaN) {
  const Golden golden = Golden::open("ops/losses_cls");
  const auto loss = loss_of("type: CrossEntropyLoss, ignore_index: 255, avg_non_ignore: true");
  const Variable pred(nchw_to_nhwc(golden.tensor("seg_ce_all_ignored/pred")), true);
  const Variable value = (*loss)(pred, golden.tensor("seg_ce_all_ignored/label"));
  EXPECT_TRUE(std::isnan(golden.tensor("seg_ce_all_ignored/loss").item()));  // the reference's defect
  EXPECT_EQ(value.value().item(), 0);
  value.backward();
  EXPECT_EQ(testing::max_abs_diff(pred.grad(), Tensor::zeros_like(pred.grad())), 0);
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
