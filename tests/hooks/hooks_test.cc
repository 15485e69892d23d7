#include <gtest/gtest.h>

#include "tests/hooks/fake_training.h"

namespace osprey {
namespace {

using testing::FakeTraining;

constexpr char kBase[] =
    "runner: {type: EpochBasedRunner, max_epochs: 3}\n"
    "optimizer: {type: SGD, lr: 0.001}\n"
    "lr_config: {policy: step, step: [2]}\n"
    "checkpoint_config: {interval: 1}\n"
    "log_config: {interval: 2, hooks: [{type: TextLoggerHook}]}\n";

// STORY 42.
TEST(HookOrder, IsMmcvsAndTakesAnyInteger) {
  FakeTraining training(std::string(kBase) + "custom_hooks: [{type: EMAHook, priority: 45}]\nfp16: {}\n");
  const std::string order = training.runner().hook_order();
  const size_t stage = order.find("after_train_iter:\n");
  ASSERT_NE(stage, std::string::npos);
  const size_t optimizer = order.find("(ABOVE_NORMAL) Fp16OptimizerHook", stage);
  const size_t mine = order.find("(45          ) EMAHook", stage);
  const size_t checkpoint = order.find("(NORMAL      ) CheckpointHook", stage);
  const size_t timer = order.find("(LOW         ) IterTimerHook", stage);
  const size_t logger = order.find("(VERY_LOW    ) TextLoggerHook", stage);
  EXPECT_LT(optimizer, mine) << order;
  EXPECT_LT(mine, checkpoint) << order;
  EXPECT_LT(checkpoint, timer);
  EXPECT_LT(timer, logger);
  EXPECT_NE(order.find("before_train_iter:\n(VERY_HIGH   ) StepLrUpdaterHook"), std::string::npos) << order;
}

TEST(Priority, ReadsNamesAndNumbers) {
  EXPECT_EQ(read_priority(parse_config("p: very_high")["p"]), Priority::kVeryHigh);
  EXPECT_EQ(static_cast<int>(read_priority(parse_config("p: 49")["p"])), 49);
  EXPECT_THROW(read_priority(parse_config("p: 101")["p"]), UserError);
  EXPECT_THROW(read_priority(parse_config("p: VERY_HIHG")["p"]), UserError);
}

TEST(EMAHook, AveragesAndSwapsAtTheEndOfTheEpoch) {
  FakeTraining training(
      "runner: {type: EpochBasedRunner, max_epochs: 1}\noptimizer: {type: SGD, lr: 0.1}\n"
      "custom_hooks: [{type: EMAHook, momentum: 0.25, warm_up: 1}]\n");
  double average = training.runner().weights().find("head.bias")->value.item();
  training.probe().at_after_train_iter = [&](Runner& r) {
    const float w = static_cast<float>(r.weights().find("head.bias")->value.item());
    average = static_cast<float>(average) * 0.75f + 0.25f * w;
  };
  training.run();
  EXPECT_FLOAT_EQ(training.runner().weights().find("head.bias")->value.item(), average);
}

TEST(NumClassCheckHook, ListsEveryPlace) {
  FakeTraining training(std::string(kBase) + "custom_hooks: [{type: NumClassCheckHook}]\n");
  try {
    training.run();
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(
        std::string(error.what()),
        "the data set has 3 classes, but model.roi_head.bbox_head.0.num_classes is 80; set each to 3 or list "
        "the data set's `classes`");
  }
}

}  // namespace
}  // namespace osprey
