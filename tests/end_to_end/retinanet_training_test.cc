#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/runner/hook.h"
#include "tools/training.h"

// RetinaNet in half on rendered scenes, with its own losses and with GHM's, whose state belongs to the
// iteration.
namespace osprey {
namespace {

namespace fs = std::filesystem;

// A folder that goes with the scope.
class WorkDir {
 public:
  WorkDir() {
    std::string pattern = ::testing::TempDir() + "/retinanet_XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  ~WorkDir() { fs::remove_all(path_); }
  WorkDir(const WorkDir&) = delete;
  WorkDir& operator=(const WorkDir&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TrainOptions options(const WorkDir& work_dir, const std::vector<std::string>& overrides) {
  TrainOptions options;
  options.config = "tests/end_to_end/tiny_retinanet.yaml";
  options.work_dir = work_dir.path();
  options.cfg_options = overrides;
  options.device = "cpu";
  options.no_validate = true;
  return options;
}

// The totals of all iterations, from the JSON log.
std::vector<double> losses_of(const WorkDir& work_dir) {
  std::vector<double> losses;
  for (const auto& entry : fs::directory_iterator(work_dir.path())) {
    if (!entry.path().string().ends_with(".log.json")) continue;
    std::ifstream in(entry.path());
    for (std::string text; std::getline(in, text);) {
      const auto line = nlohmann::json::parse(text);
      if (line.value("mode", "") != "train") continue;
      // The log writes what is not finite as null.
      losses.push_back(line["loss"].is_number() ? line["loss"].get<double>() : NAN);
    }
  }
  return losses;
}

double mean_of(const std::vector<double>& values, size_t begin, size_t end) {
  double sum = 0;
  for (size_t i = begin; i < end; ++i) sum += values[i];
  return sum / static_cast<double>(end - begin);
}

constexpr char kGhm[] =
    "model.bbox_head={loss_cls: {_delete_: true, type: GHMC, bins: 30, momentum: 0.75}, loss_bbox: "
    "{_delete_: "
    "true, type: GHMR, mu: 0.02, bins: 10, momentum: 0.7, loss_weight: 10.}}";

TEST(RetinaNetTraining, InHalfTheLossFalls) {
  for (const std::vector<std::string>& overrides :
       {std::vector<std::string>{}, {kGhm, "fp16.loss_scale={_delete_: true, init_scale: 64}"}}) {
    const WorkDir work_dir;
    Training training(options(work_dir, overrides));
    training.run();
    const std::vector<double> losses = losses_of(work_dir);
    ASSERT_EQ(losses.size(), 60u);
    for (const double loss : losses) EXPECT_TRUE(std::isfinite(loss));
    const double first = mean_of(losses, 0, 8), last = mean_of(losses, 52, 60);
    EXPECT_LT(last, 0.7 * first);
    RecordProperty("first", std::to_string(first));
    RecordProperty("last", std::to_string(last));
  }
}

// The moving averages of GHM before and after every iteration.
class GhmState final : public Hook {
 public:
  static std::vector<double> of(Runner& runner) {
    std::vector<double> values;
    for (const auto& [name, buffer] : runner.model().named_buffers()) {
      if (!name.ends_with("acc_sum")) continue;
      for (const double value : buffer->value.to_doubles()) values.push_back(value);
    }
    return values;
  }
  void before_train_iter(Runner& runner) override { before_ = of(runner); }
  void after_train_iter(Runner& runner) override {
    ++committed;
    EXPECT_EQ(of(runner).size(), 40u);
    EXPECT_NE(of(runner), before_);
  }
  void after_skipped_iter(Runner& runner, const std::string&) override {
    ++skipped;
    EXPECT_EQ(of(runner), before_);
  }
  int committed = 0, skipped = 0;

 private:
  std::vector<double> before_;
};

TEST(RetinaNetTraining, ASkippedIterationLeavesTheStateOfGhmAlone) {
  const WorkDir work_dir;
  Training training(options(
      work_dir, {kGhm, "runner.max_epochs=1", "debug={inject: [{at: bbox_head.retina_cls, iter: 2}]}"}));
  auto owned = Hook::identify("GhmState", std::make_unique<GhmState>());
  GhmState* state = owned.get();
  training.runner().register_hook(std::move(owned));
  training.run();
  EXPECT_EQ(state->skipped, 1);
  EXPECT_EQ(state->committed, 3);
  const StateDict saved = training.runner().checkpoint().weights;
  EXPECT_NE(saved.find("bbox_head.loss_cls.acc_sum"), nullptr);
  EXPECT_NE(saved.find("bbox_head.loss_bbox.edges"), nullptr);
}

}  // namespace
}  // namespace osprey
