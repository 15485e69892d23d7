#include "hooks/eval_hook.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "core/data/sample.h"
#include "tests/hooks/fake_training.h"

namespace osprey {
namespace {

using testing::FakeTraining;

constexpr char kBase[] =
    "runner: {type: EpochBasedRunner, max_epochs: 3}\n"
    "optimizer: {type: SGD, lr: 0.001}\n"
    "log_config: {interval: 2, hooks: [{type: TextLoggerHook}]}\n";

// An empty validation set whose metrics come from a script.
class ScriptedDataset final : public Dataset {
 public:
  explicit ScriptedDataset(std::vector<double> scores) : scores_(std::move(scores)) {}
  int64_t size() const override { return 0; }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::vector<Sample> get(int64_t, CounterRng&) const override;
  int group(int64_t) const override { return 0; }
  std::vector<int64_t> labels(int64_t) const override { return {}; }
  EvalReport evaluate(const std::vector<DetectionResult>&, const EvalOptions&) const override {
    return {{{"bbox_mAP", scores_.at(next_++)}, {"bbox_mAP_50", 0.5}},
            {{"bbox_mAP_copypaste", "0.1 0.2"}},
            "table"};
  }
  void format_results(const std::vector<DetectionResult>&, const std::string&) const override {}

 private:
  std::vector<double> scores_;
  mutable size_t next_ = 0;
  std::vector<std::string> classes_;
};

std::vector<Sample> ScriptedDataset::get(int64_t, CounterRng&) const { return {}; }

std::string best_file(const std::vector<double>& scores, const std::string& evaluation) {
  FakeTraining training(kBase);
  training.runner().register_hook(Hook::identify(
      "EvalHook",
      std::make_unique<EvalHook>(parse_config(evaluation), std::make_shared<ScriptedDataset>(scores), 0)));
  training.run();
  std::string found;
  for (const auto& entry : std::filesystem::directory_iterator(training.work_dir())) {
    const std::string name = entry.path().filename();
    if (name.rfind("best_", 0) == 0) found += name;
  }
  return found;
}

TEST(EvalHook, KeepsOneBestCheckpoint) {
  EXPECT_EQ(best_file({0.1, 0.3, 0.2}, "save_best: auto"), "best_bbox_mAP_epoch_2.safetensors");
  EXPECT_EQ(best_file({0.1, 0.3, 0.2}, "{save_best: bbox_mAP, rule: less}"),
            "best_bbox_mAP_epoch_1.safetensors");
  EXPECT_EQ(best_file({0.1, 0.3, 0.2}, "{}"), "");
}

TEST(EvalHook, ZeroIsAScoreAndNaNIsNot) {
  EXPECT_EQ(best_file({0, 0, 0}, "save_best: auto"), "best_bbox_mAP_epoch_1.safetensors");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(best_file({nan, 0.2, nan}, "save_best: auto"), "best_bbox_mAP_epoch_2.safetensors");
}

TEST(EvalHook, KeepsToIntervalAndStart) {
  EXPECT_EQ(best_file({0.5}, "{save_best: auto, interval: 2}"), "best_bbox_mAP_epoch_2.safetensors");
  EXPECT_EQ(best_file({0.5}, "{save_best: auto, start: 3, interval: 2}"),
            "best_bbox_mAP_epoch_3.safetensors");
}

TEST(EvalHook, UnknownMetricsAreErrors) { EXPECT_THROW(best_file({0.5}, "save_best: bbox_mpa"), UserError); }

}  // namespace
}  // namespace osprey
