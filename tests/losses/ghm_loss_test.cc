#include "losses/ghm_loss.h"

#include <cmath>

#include "core/autograd/gradcheck.h"
#include "tests/devices.h"
#include "tests/losses/loss_golden.h"

// GHMC and GHMR; what the reference says is in golden_losses_test.cc.
namespace osprey {
namespace {

using testing::loss_of;

std::vector<double> acc_sum(Loss& loss) { return loss.state_dict().find("acc_sum")->to_doubles(); }

// Logits of probabilities 0.1, 0.1, 0.1, 0.9 against 0: three short gradients, one long.
const Tensor kLogits = Tensor::from<float>({-2.1972246f, -2.1972246f, -2.1972246f, 2.1972246f}, {4, 1});
const Tensor kNone = Tensor::full({4}, 1, DType::kI64);  // background

double bce(double p) { return -std::log(1 - p); }

TEST(GHMC, ExamplesOfABinShareOneVote) {
  for (const Device device : testing::devices_in_build()) {
    const auto loss = loss_of("type: GHMC, bins: 2");
    loss->to(device);
    const double value = (*loss)(Variable(kLogits.to(device)), kNone.to(device)).value().item();
    EXPECT_NEAR(value, (bce(0.1) + bce(0.9)) / 2, 1e-6);
  }
}

TEST(GHMC, WhatHasNoWeightDoesNotCount) {
  const auto loss = loss_of("type: GHMC, bins: 2");
  const LossWeights weights{Tensor::from<float>({1, 0, 1, 0}, {4})};
  EXPECT_NEAR((*loss)(kLogits, kNone, weights).value().item(), bce(0.1), 1e-6);  // one bin is left
  const LossWeights none{Tensor::zeros({4}, DType::kF32)};
  EXPECT_EQ((*loss)(kLogits, kNone, none).value().item(), 0);
}

TEST(GHMC, MomentumAveragesTheCountsOfFilledBins) {
  for (const Device device : testing::devices_in_build()) {
    const auto loss = loss_of("type: GHMC, bins: 4, momentum: 0.75");
    loss->to(device);
    (*loss)(Variable(kLogits.to(device)), kNone.to(device));
    loss->commit_buffers();
    EXPECT_EQ(acc_sum(*loss), (std::vector<double>{0.75, 0, 0, 0.25}));
    (*loss)(Variable(kLogits.slice(0, 3).to(device)), kNone.slice(0, 3).to(device));
    loss->commit_buffers();
    EXPECT_EQ(acc_sum(*loss), (std::vector<double>{0.75 * 0.75 + 0.25 * 3, 0, 0, 0.25}));
  }
}

// The head calls its loss once per level; the second call must see what the first left.
TEST(GHMC, ASkippedIterationLeavesNoTrace) {
  const auto loss = loss_of("type: GHMC, bins: 4, momentum: 0.5");
  (*loss)(kLogits, kNone);
  (*loss)(kLogits, kNone);
  loss->discard_buffers();
  EXPECT_EQ(acc_sum(*loss), (std::vector<double>{0, 0, 0, 0}));
  (*loss)(kLogits, kNone);
  (*loss)(kLogits, kNone);
  loss->commit_buffers();
  EXPECT_EQ(acc_sum(*loss), (std::vector<double>{2.25, 0, 0, 0.75}));
}

TEST(GHMC, ItsStateIsTheReferencesByName) {
  const auto loss = loss_of("type: GHMC, bins: 3, momentum: 0.5");
  std::vector<std::string> names;
  const StateDict state = loss->state_dict();
  for (const auto& [name, tensor] : state.entries()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"edges", "acc_sum"}));
  EXPECT_EQ(loss_of("type: GHMC")->state_dict().size(), 1u);
}

// Far from every edge of a bin, across which the weights jump.
TEST(GHMLosses, GradientsMatchFiniteDifferences) {
  const Tensor x = Tensor::from<double>({-1.9, -0.6, 0.5, 1.7, 3.1, -3.3}, {3, 2});
  const auto ghmc = loss_of("type: GHMC, bins: 3, loss_weight: 2");
  const Tensor labels = Tensor::from<int64_t>({0, 1, 2}, {3});
  EXPECT_GRADCHECK([&](const Variables& in) { return (*ghmc)(in[0], labels); }, {x});
  const auto ghmr = loss_of("type: GHMR, mu: 0.3, bins: 3");
  const Tensor target = Tensor::zeros({3, 2}, DType::kF64);
  EXPECT_GRADCHECK([&](const Variables& in) { return (*ghmr)(in[0], target); }, {x});
}

TEST(GHMLosses, NaNStaysNaNAndNoRowsCostNothing) {
  const Tensor none({0, 4}, DType::kF32), nan = Tensor::full({1, 4}, std::nan(""), DType::kF32);
  for (const char* type : {"type: GHMC", "type: GHMR"}) {
    const auto loss = loss_of(type);
    EXPECT_EQ((*loss)(none, none).value().item(), 0);
    EXPECT_TRUE(std::isnan((*loss)(nan, Tensor::zeros({1, 4}, DType::kF32)).value().item()));
  }
}

TEST(GHMLosses, RefuseWhatHasNoMeaning) {
  for (const char* keys : {"type: GHMC, use_sigmoid: false", "type: GHMC, bins: 0", "type: GHMC, momentum: 1",
                           "type: GHMR, mu: 0", "type: GHMR, momentum: -0.5"}) {
    EXPECT_THROW(loss_of(keys), UserError) << keys;
  }
}

}  // namespace
}  // namespace osprey
