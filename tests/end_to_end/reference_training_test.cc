#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "hooks/default_hooks.h"
#include "tests/models/model_golden.h"

// Ten iterations of mmcv's IterBasedRunner with its SGD, schedule and clipping, repeated on the same weights
// and images.
namespace osprey::testing {
namespace {

// Even iterations see the first batch, odd ones the second.
class TwoBatches final : public BatchSource {
 public:
  TwoBatches()
      : batches_{golden_batch(Golden::open("detectors/inputs")),
                 golden_batch(Golden::open("train/inputs_b"))} {}
  int64_t batches_per_epoch() const override { return 2; }
  void begin_epoch(int64_t, int64_t first_batch) override { next_ = first_batch; }
  bool next(Batch& batch) override {
    if (next_ == 2) return false;
    batch = batches_[next_++];
    return true;
  }

 private:
  Batch batches_[2];
  int64_t next_ = 0;
};

// What each committed iteration logged.
class Recorder final : public Hook {
 public:
  void after_train_iter(Runner& runner) override {
    runner.log_buffer().average(1);
    for (const auto& [name, value] : runner.log_buffer().output()) values[name].push_back(value);
    values["lr"].push_back(runner.current_lr());
    runner.log_buffer().clear_output();
  }
  std::map<std::string, std::vector<double>> values;
};

struct TrainedModel {
  std::unique_ptr<Detector> detector;
  std::unique_ptr<Runner> runner;
  Recorder* recorder = nullptr;
};

TrainedModel train(const std::string& name, const std::string& weights, const std::string& work_dir) {
  TrainedModel run;
  const ConfigNode config = load_config(Golden::find_file("train/" + name + ".yaml"));
  run.detector = build<Detector>(golden_model_cfg("train/" + name));
  load_golden_weights(*run.detector, Golden::open(weights));
  run.runner = build<Runner>(config["runner"]);
  RunnerContext context;
  context.model = run.detector.get();
  context.config = config;
  context.work_dir = work_dir;
  run.runner->set_up(context);
  register_training_hooks(*run.runner, config);
  auto recorder = Hook::identify("Recorder", std::make_unique<Recorder>());
  run.recorder = recorder.get();
  run.runner->register_hook(std::move(recorder));
  TwoBatches batches;
  run.runner->run({{true, 1, &batches}});
  return run;
}

// Rounding grows from iteration to iteration: until `flip` the bound is three times what a relative change of
// 1e-6 of weights and input does to the reference itself, 1e-4 at least. From `flip` on a proposal lies so
// near a tie that rounding decides which of two becomes one of the 171 RoIs; moving the initial weights by
// 1e-6 puts our run on the reference's side (s0.loss_cls 2.9841 instead of 2.9787). From there on 5 % are
// allowed, and 2 points for accuracies.
struct Case {
  const char* name;
  size_t flip;
};

double allowed(const std::string& key, double expected, double grown, bool flipped) {
  if (!flipped || key == "lr") return grown * std::abs(expected);
  return key.find("acc") != std::string::npos ? 2 : 0.05 * std::abs(expected);
}

class ReferenceTraining : public ::testing::TestWithParam<Case> {};

TEST_P(ReferenceTraining, TenIterationsGoAsInMmcv) {
  const std::string name = GetParam().name;
  const Golden golden = Golden::open("train/" + name);
  std::string weights = golden.json()["initial_weights"];
  weights = weights.substr(0, weights.find(".safetensors"));
  const TrainedModel run = train(name, weights, ::testing::TempDir());
  EXPECT_EQ(run.runner->skips().total(), 0);

  const auto& perturbed = golden.json()["perturbed_1e6_relative_change_per_iter"];
  for (const std::string& entry : golden.names("iter/")) {
    const std::string key = entry.substr(5);
    const std::vector<double> expected = golden.tensor(entry).to_doubles();
    const std::vector<double>& actual = run.recorder->values[key];
    ASSERT_EQ(actual.size(), 10u) << key;
    double grown = 1e-4;
    for (size_t i = 0; i < expected.size(); ++i) {
      grown = std::max(grown, 3 * perturbed[i].get<double>());
      EXPECT_NEAR(actual[i], expected[i], allowed(key, expected[i], grown, i >= GetParam().flip))
          << key << " iteration " << i;
    }
  }
  if (GetParam().flip < 10) return;
  const StateDict final_state = run.runner->weights().state_dict();
  const double tolerance = 3 * golden.json()["perturbed_1e6_final_weight_change_max"].get<double>();
  for (const std::string& entry : golden.names("final/")) {
    const Tensor* weight = final_state.find(entry.substr(6));
    ASSERT_NE(weight, nullptr) << entry;
    EXPECT_LE(max_abs_diff(*weight, golden.tensor(entry).reshape(weight->shape())), tolerance) << entry;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, ReferenceTraining,
                         ::testing::Values(Case{"mask_rcnn_10iter", 10}, Case{"htc_10iter", 2}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace osprey::testing
