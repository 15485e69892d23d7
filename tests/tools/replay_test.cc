// tools/replay as a user runs it, on iterations of a slim HTC that a training run has kept.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/base/strings.h"
#include "tests/run_tool.h"
#include "tools/training.h"

namespace osprey {
namespace {

namespace fs = std::filesystem;
using testing::Outcome;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct Failure {
  const char* name;
  std::vector<std::string> changes;  // to the config
  const char* finding;
};

TrainOptions options(const std::vector<std::string>& changes, const std::string& work_dir) {
  TrainOptions options;
  options.config = "tests/end_to_end/tiny_htc.yaml";
  options.work_dir = work_dir;
  options.cfg_options = {"on_nonfinite=stop", "runner.max_epochs=1"};
  options.cfg_options.insert(options.cfg_options.end(), changes.begin(), changes.end());
  options.device = "cpu";
  options.no_validate = true;
  return options;
}

// Trains; the message of the error that ended the run, or "".
std::string train(const TrainOptions& options) {
  try {
    Training(options).run();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class ReplayTest : public ::testing::TestWithParam<Failure> {
 protected:
  ReplayTest() : work_dir_(fs::path(::testing::TempDir()) / str_cat("replay_", ::getpid())) {
    fs::remove_all(work_dir_);
  }
  ~ReplayTest() override { fs::remove_all(work_dir_); }

  // The folder that a failing run kept.
  std::string kept() const {
    for (const auto& entry : fs::directory_iterator(work_dir_ / "numerics")) return entry.path();
    return "nothing is kept";
  }

  fs::path work_dir_;
};

// The verdict of the log, from the folder alone; and the cure that it prints is one.
TEST_P(ReplayTest, RepeatsTheVerdictOfTheLogAndItsCureHelps) {
  const Failure& failure = GetParam();
  const std::string error = train(options(failure.changes, work_dir_));
  ASSERT_TRUE(contains(error, failure.finding)) << error;
  const std::string verdict = error.substr(error.find("could not commit: ") + 18);
  const Outcome outcome = testing::run_tool("replay", kept() + " --device cpu");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_TRUE(contains(outcome.output, "reproduced: the losses and what overflowed are bitwise the log's"))
      << outcome.output;
  EXPECT_TRUE(contains(outcome.output, "verdict: " + verdict + "\n")) << verdict << "\n" << outcome.output;
  EXPECT_TRUE(contains(outcome.output, "<-- bad\n")) << outcome.output;

  const size_t at = verdict.find("Cure: ") + 6;
  const std::string cure = verdict.substr(at, verdict.find(" or ", at) - at);
  std::vector<std::string> changes = failure.changes;
  for (const std::string& change : split(cure, ' ')) changes.push_back(change);
  EXPECT_EQ(train(options(changes, work_dir_ / "cured")), "") << cure;
}

INSTANTIATE_TEST_SUITE_P(
    Failures, ReplayTest,
    ::testing::Values(
        Failure{
            "gradient_overflow", {"fp16.loss_scale=16777216."}, "gradient overflow at loss_scale 16777216"},
        Failure{"activation_overflow",
                {"img_norm_cfg.std=[0.0005, 0.0005, 0.0005]"},
                "activation overflow in half in backbone.conv1 (op conv2d, forward"},
        Failure{"drill_forward",
                {"debug.inject=[{at: neck, phase: forward, iter: 1, value: .nan}]"},
                "(fire drill debug.inject[0])"},
        Failure{"drill_backward",
                {"debug.inject=[{at: roi_head.bbox_head.0.fc_cls.weight, phase: backward, iter: 1}]"},
                "(fire drill debug.inject[0])"}),
    [](const auto& info) { return info.param.name; });

class ReplayFlags : public ReplayTest {};

TEST_F(ReplayFlags, OtherPrecisionsAndScales) {
  train(options({"fp16.loss_scale=16777216."}, work_dir_));
  const std::string folder = kept();
  const auto run = [&](const std::string& flags) {
    const Outcome outcome = testing::run_tool("replay", folder + " --device cpu " + flags);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    return outcome.output;
  };
  const std::string exact = run("--precision fp32 --all");
  EXPECT_TRUE(contains(exact, "verdict: finite at loss scale 1 in f32\n")) << exact;
  EXPECT_TRUE(contains(exact, "need not agree with the log to the last bit: logged in f16, now in f32"))
      << exact;
  EXPECT_TRUE(contains(exact, "gradient ")) << exact;  // the parameters' rows
  EXPECT_FALSE(contains(exact, "<-- bad"));
  EXPECT_TRUE(contains(run("--loss-scale 1"), "verdict: finite at loss scale 1 in f16\n"));
  EXPECT_TRUE(contains(run("--precision bf16"), "verdict: finite at loss scale 1 in bf16\n"));
  const std::string advice = run("--advise");
  EXPECT_TRUE(contains(advice, "<-- largest safe\n")) << advice;
  EXPECT_TRUE(contains(advice, "advice: fp16.loss_scale=")) << advice;
  const std::string larger = run("--loss-scale 1e9");
  EXPECT_TRUE(contains(larger, "gradient overflow at loss_scale 1000000000 in ")) << larger;
}

TEST_F(ReplayFlags, DamageIsOneLineAndExitCode2) {
  train(options({"fp16.loss_scale=16777216."}, work_dir_));
  const std::string folder = kept();
  fs::resize_file(folder + "/batch.safetensors", 1000);
  for (const auto& [arguments, message] :
       {std::pair<std::string, std::string>{folder,
                                            "batch.safetensors: is damaged: 1000 bytes, written were "},
        {work_dir_.string(), "is not the dump of an iteration: it has no iteration.json"},
        {work_dir_.string() + "/none", "no such folder"},
        {folder + " --precision half", "--precision half: allowed are fp32, fp16, bf16"}}) {
    const Outcome outcome = testing::run_tool("replay", arguments + " --device cpu");
    EXPECT_EQ(outcome.exit_code, 2) << outcome.output;
    EXPECT_TRUE(contains(outcome.output, message)) << outcome.output;
    EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 1) << outcome.output;
  }
}

}  // namespace
}  // namespace osprey
