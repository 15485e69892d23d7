#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "hooks/lr_updater_hook.h"
#include "tests/golden.h"
#include "tests/hooks/fake_training.h"

namespace osprey {
namespace {

using testing::FakeTraining;

// Schedules of mmcv 1.7.2.
TEST(LrUpdaterGolden, FollowsMmcv) {
  const auto golden = testing::Golden::open("ops/lr_schedules");
  const auto& json = golden.json();
  ASSERT_FALSE(json["cases"].empty());
  for (const auto& item : json["cases"]) {
    nlohmann::json params = item["params"];
    params["type"] = lr_updater_type(item["policy"]);
    const auto hook = build<Hook>(parse_config(params.dump()));
    const auto& schedule = dynamic_cast<const LrUpdaterHook&>(*hook);
    SchedulePoint point;
    point.epoch_length = json["epoch_len"];
    point.max_epochs = json["max_epochs"];
    point.max_iters = json["max_iters"];
    for (point.iter = 0; point.iter < point.max_iters; ++point.iter) {
      point.epoch = point.iter / point.epoch_length;
      for (size_t group = 0; group < item["base_lr"].size(); ++group) {
        const double expected = item["lr"][point.iter][group];
        EXPECT_NUMBER_NEAR(schedule.lr_at(item["base_lr"][group], point), expected, 0, 1e-12)
            << item["name"] << " " << point.iter;
      }
    }
  }
}

// As mmcv's runners used it, iteration by iteration.
TEST(LrUpdaterGolden, FollowsMmcvsRunners) {
  const auto golden = testing::Golden::open("optim/optim");
  ASSERT_FALSE(golden.json()["lr_schedules"].empty());
  for (const auto& [name, item] : golden.json()["lr_schedules"].items()) {
    nlohmann::json params = item["lr_config"];
    params["type"] = lr_updater_type(params["policy"]);
    params.erase("policy");
    const auto hook = build<Hook>(parse_config(params.dump()));
    const auto& schedule = dynamic_cast<const LrUpdaterHook&>(*hook);
    const std::vector<double> used = item["lr_used_in_each_iteration"];
    SchedulePoint point;
    point.epoch_length = item["iters_per_epoch"];
    point.max_epochs = item["run"].value("epochs", int64_t{0});
    point.max_iters = static_cast<int64_t>(used.size());
    for (const double expected : used) {
      point.epoch = point.iter / point.epoch_length;
      EXPECT_NUMBER_NEAR(schedule.lr_at(item["base_lr"], point), expected, 0, 1e-12)
          << name << " " << point.iter;
      ++point.iter;
    }
  }
}

TEST(LrUpdater, FindsTheHookOfAPolicy) {
  EXPECT_EQ(lr_updater_type("step"), "StepLrUpdaterHook");
  EXPECT_EQ(lr_updater_type("CosineAnnealing"), "CosineAnnealingLrUpdaterHook");
  EXPECT_EQ(lr_updater_type("cosine"), "CosineAnnealingLrUpdaterHook");
  const std::string base =
      "{runner: {type: IterBasedRunner, max_iters: 1}, optimizer: {type: SGD, lr: 0.1}, ";
  try {
    FakeTraining training(base + "lr_config: {policy: setpp, step: [1]}}");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("Did you mean '"), std::string::npos) << error.what();
  }
}

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
