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

// What each committed iteration logged, and the weights after the first.
class Recorder final : public Hook {
 public:
  void after_train_iter(Runner& runner) override {
    runner.log_buffer().average(1);
    for (const auto& [name, value] : runner.log_buffer().output()) values[name].push_back(value);
    values["lr"].push_back(runner.current_lr());
    runner.log_buffer().clear_output();
    if (runner.iter() == 0) {
      const StateDict state = runner.weights().state_dict();
      for (const auto& [name, weight] : state.entries()) after_first.put(name, weight.clone());
    }
  }
  std::map<std::string, std::vector<double>> values;
  StateDict after_first;
};

// Moves every weight by up to one unit in its last place.
void nudge(Detector& detector, uint64_t seed) {
  for (const auto& [name, parameter] : detector.named_parameters()) {
    Tensor& value = parameter->variable.mutable_value();
    const Tensor draws = uniform(value.shape(), -1e-7, 1e-7, seed++);
    for (int64_t i = 0; i < value.numel(); ++i) {
      value.mutable_data<float>()[i] *= 1 + draws.data<float>()[i];
    }
  }
}

struct TrainedModel {
  std::unique_ptr<Detector> detector;
  std::unique_ptr<Runner> runner;
  Recorder* recorder = nullptr;
};

// draw 0: from the fixture's weights; others: from weights nudged by rounding, each in its own way.
TrainedModel train(const std::string& name, const StateDict& weights, int draw) {
  TrainedModel run;
  const ConfigNode config = load_config(Golden::find_file("train/" + name + ".yaml"));
  run.detector = build<Detector>(golden_model_cfg("train/" + name));
  EXPECT_TRUE(run.detector->load_state_dict(weights).clean());
  if (draw > 0) nudge(*run.detector, 1000 * static_cast<uint64_t>(draw));
  run.runner = build<Runner>(config["runner"]);
  RunnerContext context;
  context.model = run.detector.get();
  context.config = config;
  context.work_dir = ::testing::TempDir();
  run.runner->set_up(context);
  register_training_hooks(*run.runner, config);
  auto recorder = Hook::identify("Recorder", std::make_unique<Recorder>());
  run.recorder = recorder.get();
  run.runner->register_hook(std::move(recorder));
  TwoBatches batches;
  run.runner->run({{true, 1, &batches}});
  EXPECT_EQ(run.runner->skips().total(), 0);
  return run;
}

// The golden README's rule; how far rounding reaches by each iteration is in the fixture. What may differ in
// one iteration is carried into the next ones.
double allowed(const nlohmann::json& json, const std::string& key, size_t iteration) {
  if (key == "lr") return 1e-6;
  const auto& measured = json[key == "loss" ? "perturbed_1e6_total_loss_relative_change"
                                            : "perturbed_1e6_relative_change_per_iter"];
  double reached = 0;
  for (size_t i = 0; i <= iteration; ++i) reached = std::max(reached, measured[i].get<double>());
  return golden_tolerance(0, reached);
}

class ReferenceTraining : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    golden_ = Golden::open("train/" + GetParam());
    std::string weights = golden_.json()["initial_weights"];
    initial_ = golden_state(Golden::open(weights.substr(0, weights.find(".safetensors"))));
  }

  // The first entry that the rule does not allow; empty when there is none.
  std::string first_deviation(const TrainedModel& run) const {
    const size_t iterations = golden_.tensor("iter/loss").numel();
    for (size_t i = 0; i < iterations; ++i) {
      for (const std::string& entry : golden_.names("iter/")) {
        const std::string key = entry.substr(5);
        const std::vector<double>& logged = run.recorder->values[key];
        if (logged.size() != iterations) return str_cat(key, " was logged ", logged.size(), " times");
        const double expected = golden_.tensor(entry).to_doubles()[i];
        const auto near = number_near(logged[i], expected, 0, allowed(golden_.json(), key, i));
        if (!near) return str_cat("iteration ", i, ", ", key, ": ", near.message());
      }
    }
    return weight_deviation(run.runner->weights().state_dict());
  }

  std::string weight_deviation(const StateDict& final_state) const {
    const double change = golden_.json()["perturbed_1e6_final_weight_change_max"];
    for (const std::string& entry : golden_.names("final/")) {
      const Tensor* weight = final_state.find(entry.substr(6));
      if (!weight) return str_cat("no ", entry);
      const auto near = tensor_near(weight->reshape({-1}), golden_.tensor(entry).reshape({-1}),
                                    golden_tolerance(0, change), 0);
      if (!near) return str_cat(entry, ": ", near.message());
    }
    return "";
  }

  // What no rounding explains: one step from equal weights, and what training must not touch.
  void expect_first_step_and_frozen_weights(const TrainedModel& run) const {
    for (const std::string& entry : golden_.names("after1_first32/")) {
      const Tensor* weight = run.recorder->after_first.find(entry.substr(15));
      ASSERT_NE(weight, nullptr) << entry;
      const Tensor& expected = golden_.tensor(entry);
      EXPECT_TENSOR_NEAR(weight->reshape({-1}).slice(0, expected.numel()), expected.reshape({-1}), 1e-9, 3e-7)
          << entry;
    }
    const StateDict state = run.runner->weights().state_dict();
    for (const std::string name : golden_.json()["unchanged"]) {
      EXPECT_TENSOR_EQ(state.find(name)->reshape({-1}), initial_.find(name)->reshape({-1})) << name;
    }
  }

  Golden golden_;
  StateDict initial_;
};

// A decision at a tie (the last proposal that fits, two scores 2e-8 apart in f64) is rounding's to take, and
// what follows differs then by far more than rounding: mmdetection itself leaves the fixture's path when it
// runs on one thread instead of two (docs/parity.md). So the run from the fixture's weights, or one of those
// from weights that differ in the last place, must stay on that path: in all iterations, within the rule.
TEST_P(ReferenceTraining, IterationsGoAsInMmcv) {
  constexpr int kDraws = 12;
  std::string deviation;
  for (int draw = 0; draw <= kDraws; ++draw) {
    const TrainedModel run = train(GetParam(), initial_, draw);
    if (draw == 0) expect_first_step_and_frozen_weights(run);
    const std::string found = first_deviation(run);
    RecordProperty(str_cat("draw_", draw), found.empty() ? "as the reference" : found);
    if (found.empty()) return;
    if (draw == 0) deviation = found;
    ASSERT_FALSE(starts_with(found, "iteration 0")) << "before any chaos: " << found;
  }
  FAIL() << "none of " << kDraws
         << " nudges of the weights takes the reference's path; unnudged: " << deviation;
}

INSTANTIATE_TEST_SUITE_P(Cases, ReferenceTraining, ::testing::ValuesIn(Golden::fixtures("train")),
                         [](const auto& test) { return test_name(test.param); });

}  // namespace
}  // namespace osprey::testing
