#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "hooks/lr_updater_hook.h"
#include "hooks/momentum_updater_hook.h"
#include "tests/golden.h"
#include "tests/hooks/fake_training.h"

namespace osprey {
namespace {

using nlohmann::json;
using testing::FakeTraining;
using testing::Golden;

// The hook of a policy; a policy that is not registered fails.
template <typename H>
std::unique_ptr<Hook> hook_for(const json& policy, json params, const std::string& suffix,
                               const H** schedule) {
  params["type"] = lr_updater_type(policy, suffix);
  std::unique_ptr<Hook> hook = build<Hook>(parse_config(params.dump()));
  *schedule = dynamic_cast<const H*>(hook.get());
  return hook;
}

SchedulePoint run_of(const json& fixture) {
  return {0, 0, fixture["epoch_len"], fixture["max_epochs"], fixture["max_iters"]};
}

// Every schedule of mmcv 1.7.2 that a fixture has.
void expect_mmcvs_rates(const Golden& golden) {
  for (const json& item : golden.json()["cases"]) {
    const LrUpdaterHook* schedule = nullptr;
    const auto hook = hook_for(item["policy"], item["params"], "LrUpdaterHook", &schedule);
    ASSERT_NE(schedule, nullptr) << item["name"];
    SchedulePoint point = run_of(golden.json());
    for (point.iter = 0; point.iter < point.max_iters; ++point.iter) {
      point.epoch = point.iter / point.epoch_length;
      for (size_t group = 0; group < item["base_lr"].size(); ++group) {
        const double expected = item["lr"][point.iter][group];
        const double base = schedule->base_lr(item["base_lr"][group], group);
        EXPECT_NUMBER_NEAR(schedule->lr_at(base, point), expected, 1e-18, 1e-12)
            << item["name"] << " " << point.iter;
      }
    }
  }
  EXPECT_GT(golden.json()["cases"].size(), 0u);
}

TEST(LrUpdaterGolden, FollowsMmcv) { expect_mmcvs_rates(Golden::open("ops/lr_schedules")); }

// The policies that the first fixture lacks; it ships with the tests.
TEST(LrUpdaterGolden, FollowsMmcvInTheOtherPolicies) {
  expect_mmcvs_rates(Golden::open_shipped("optim/schedules"));
}

TEST(LrUpdaterGoldenRuns, FollowMmcv) {
  const Golden golden = Golden::open("optim/optim");
  for (const auto& [name, item] : golden.json()["lr_schedules"].items()) {
    json params = item["lr_config"];
    const std::string policy = params["policy"];
    params.erase("policy");
    const LrUpdaterHook* schedule = nullptr;
    const auto hook = hook_for(policy, params, "LrUpdaterHook", &schedule);
    ASSERT_NE(schedule, nullptr) << name;
    const json& expected = item["lr_used_in_each_iteration"];
    SchedulePoint point{0, 0, item["iters_per_epoch"], item["run"].value("epochs", int64_t{0}),
                        static_cast<int64_t>(expected.size())};
    for (; point.iter < point.max_iters; ++point.iter) {
      point.epoch = point.iter / point.epoch_length;
      const double lr = expected[point.iter];
      EXPECT_NUMBER_NEAR(schedule->lr_at(schedule->base_lr(item["base_lr"], 0), point), lr, 0, 1e-12)
          << name << " " << point.iter;
    }
  }
  EXPECT_GT(golden.json()["lr_schedules"].size(), 0u);
}

TEST(MomentumUpdaterGolden, FollowsMmcv) {
  const Golden golden = Golden::open_shipped("optim/schedules");
  for (const json& item : golden.json()["momentum_cases"]) {
    const MomentumUpdaterHook* schedule = nullptr;
    const auto hook = hook_for(item["policy"], item["params"], "MomentumUpdaterHook", &schedule);
    ASSERT_NE(schedule, nullptr) << item["name"];
    SchedulePoint point = run_of(golden.json());
    for (point.iter = 0; point.iter < point.max_iters; ++point.iter) {
      point.epoch = point.iter / point.epoch_length;
      for (size_t group = 0; group < item["base_momentum"].size(); ++group) {
        const double expected = item["momentum"][point.iter][group];
        EXPECT_NUMBER_NEAR(schedule->momentum_at(item["base_momentum"][group], group, point), expected, 0,
                           1e-12)
            << item["name"] << " " << point.iter;
      }
    }
  }
  EXPECT_GT(golden.json()["momentum_cases"].size(), 0u);
}

constexpr char kBase[] =
    "runner: {type: IterBasedRunner, max_iters: 10}\n"
    "optimizer: {type: SGD, lr: 0.1, momentum: 0.9}\n";

std::string complaint(const std::string& more, const std::string& base = kBase) {
  try {
    FakeTraining training(base + more);
    training.run();
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(LrUpdater, FindsTheHookOfAPolicy) {
  EXPECT_EQ(lr_updater_type("step"), "StepLrUpdaterHook");
  EXPECT_EQ(lr_updater_type("CosineAnnealing"), "CosineAnnealingLrUpdaterHook");
  EXPECT_EQ(lr_updater_type("cosine"), "CosineAnnealingLrUpdaterHook");
  EXPECT_EQ(lr_updater_type("cyclic", "MomentumUpdaterHook"), "CyclicMomentumUpdaterHook");
  EXPECT_NE(complaint("lr_config: {policy: setpp, step: [1]}").find("Did you mean '"), std::string::npos);
  EXPECT_NE(complaint("momentum_config: {policy: poly}").find("unknown policy 'poly'; there are: Cosine"),
            std::string::npos);
}

// What cannot be a schedule of this run is refused before its first iteration.
TEST(LrUpdater, RefusesWhatDoesNotFitTheRun) {
  for (const auto& [config, message] : {
           std::pair{"lr_config: {policy: OneCycle, max_lr: 1, total_steps: 9}",
                     "at least the run's iterations, 10"},
           {"lr_config: {policy: OneCycle, max_lr: [1, 2]}", "has 2 numbers for 1 parameter groups"},
           {"lr_config: {policy: OneCycle, max_lr: -1}", "must be > 0"},
           {"lr_config: {policy: CosineRestart, periods: [2, 3], restart_weights: [1, 1], min_lr: 0}",
            "cover 5 of 10"},
           {"lr_config: {policy: CosineRestart, periods: [10, 3], min_lr: 0}", "restart_weights 1"},
           {"lr_config: {policy: cyclic, cyclic_times: 11}", "too few for so many cycles"},
           {"lr_config: {policy: cyclic, step_ratio_up: 1.0}", "must be in [0, 1)"},
           {"lr_config: {policy: cyclic, by_epoch: true}", "must be false"},
           {"momentum_config: {policy: OneCycle, max_momentum: 1.5}", "must be in [0, 1)"},
       }) {
    EXPECT_NE(complaint(config).find(message), std::string::npos) << config << ": " << complaint(config);
  }
}

// A cycle is counted in iterations under an epoch-based runner too, whose length is known before the run.
TEST(LrUpdater, CyclesFitEpochBasedRuns) {
  const std::string base =
      "runner: {type: EpochBasedRunner, max_epochs: 3}\noptimizer: {type: AdamW, lr: 0.1}\n";
  EXPECT_NE(
      complaint("lr_config: {policy: OneCycle, max_lr: 1, total_steps: 11}", base).find("iterations, 12"),
      std::string::npos);
  FakeTraining training(base +
                        "lr_config: {policy: OneCycle, max_lr: 0.2}\n"
                        "momentum_config: {policy: OneCycle, base_momentum: 0.8, max_momentum: 0.95}\n");
  std::vector<double> rates, momenta;
  training.probe().at_before_iter = [&](Runner& r) {
    rates.push_back(r.optimizer().groups()[0].lr);
    momenta.push_back(r.optimizer().groups()[0].momentum);
  };
  training.run();
  ASSERT_EQ(rates.size(), 12u);
  EXPECT_NEAR(rates[0], 0.2 / 25, 1e-12);
  EXPECT_NEAR(momenta[0], 0.95, 1e-12);
  EXPECT_LT(momenta[3], 0.82);
  EXPECT_NEAR(momenta[11], 0.95, 1e-12);
}

// SGD with a momentum of 0 for a while: the step is plain gradient descent.
TEST(MomentumUpdater, ReachesTheStep) {
  const auto weight_after = [](const std::string& momentum, const std::string& schedule) {
    FakeTraining training(
        "runner: {type: IterBasedRunner, max_iters: 4}\noptimizer: {type: SGD, lr: 0.1, momentum: " +
        momentum + "}\n" + schedule);
    training.run();
    return training.runner().weights().find("head.bias")->value.item();
  };
  const std::string off = "momentum_config: {policy: OneCycle, base_momentum: 0.0, max_momentum: 0.0}\n";
  EXPECT_EQ(weight_after("0.9", off), weight_after("0", ""));
  EXPECT_NE(weight_after("0.9", ""), weight_after("0", ""));
}

}  // namespace
}  // namespace osprey
