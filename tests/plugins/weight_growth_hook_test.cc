#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "core/runner/hook_state.h"
#include "tests/hooks/fake_training.h"
#include "tests/plugins/example_plugin.h"

namespace osprey {
namespace {

using testing::FakeTraining;

double weight_norm(Runner& runner) {
  double squares = 0;
  for (const MasterParameter* weight : runner.weights().trainable()) {
    for (const double value : weight->value.to_doubles()) squares += value * value;
  }
  return std::sqrt(squares);
}

class WeightGrowthHook : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { load_example_plugin("weight_growth_hook"); }
  static std::string config(const std::string& hook, int epochs = 2) {
    return "runner: {type: EpochBasedRunner, max_epochs: " + std::to_string(epochs) +
           "}\n"
           "optimizer: {type: SGD, lr: 0.1}\n"
           "checkpoint_config: {interval: 1}\n"
           "log_config: {interval: 2, hooks: [{type: TextLoggerHook}]}\n"
           "custom_hooks: [" +
           hook + "]\n";
  }
  static double initial_norm(Runner& runner) {
    for (const auto& hook : runner.hooks()) {
      if (hook->name() != "WeightGrowthHook") continue;
      StateDict state;
      hook->save_state(state);
      return find_number(state, "initial_norm").value_or(-1);
    }
    return -1;
  }
};

TEST_F(WeightGrowthHook, AddsAFieldToTheLog) {
  FakeTraining training(config("{type: WeightGrowthHook, interval: 2}"));
  const double before = weight_norm(training.runner());
  training.run();
  std::string log;
  for (const auto& entry : std::filesystem::directory_iterator(training.work_dir())) {
    if (entry.path().string().find(".log.json") == std::string::npos) continue;
    std::ifstream file(entry.path());
    log.assign(std::istreambuf_iterator<char>(file), {});
  }
  const std::string kField = "\"weight_growth\":";
  const size_t field = log.rfind(kField);
  ASSERT_NE(field, std::string::npos) << log;
  EXPECT_NEAR(std::stod(log.substr(field + kField.size())), weight_norm(training.runner()) / before, 1e-4);
}

TEST_F(WeightGrowthHook, ComparesWithTheFirstStartAfterAResume) {
  const std::string hook = "{type: WeightGrowthHook}";
  FakeTraining first(config(hook, 1));
  first.run();
  FakeTraining second(config(hook, 2));
  second.resume(first.work_dir() + "/epoch_1.safetensors");
  second.run();
  EXPECT_EQ(initial_norm(second.runner()), initial_norm(first.runner()));
  EXPECT_NE(initial_norm(second.runner()), weight_norm(first.runner()));
}

TEST_F(WeightGrowthHook, RefusesASenselessInterval) {
  EXPECT_THROW(FakeTraining(config("{type: WeightGrowthHook, interval: 0}")), UserError);
}

}  // namespace
}  // namespace osprey
