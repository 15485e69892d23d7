#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/base/strings.h"
#include "core/runner/checkpoint.h"
#include "tools/training.h"

// The whole path on a real model: HTC in half on rendered scenes.
namespace osprey {
namespace {

namespace fs = std::filesystem;

constexpr char kConfig[] = "tests/end_to_end/tiny_htc.yaml";

// In Bazel's runfiles, else as built in the root.
std::string train_binary() {
  return fs::exists("tools/train_main") ? "tools/train_main" : "bazel-bin/tools/train_main";
}

std::string fresh_dir() {
  std::string pattern = ::testing::TempDir() + "/train_XXXXXX";
  return ::mkdtemp(pattern.data());
}

TrainOptions options(const std::vector<std::string>& overrides, const std::string& work_dir = fresh_dir()) {
  TrainOptions options;
  options.config = kConfig;
  options.work_dir = work_dir;
  options.cfg_options = overrides;
  options.device = "cpu";
  options.no_validate = true;
  return options;
}

// tools/train as a process.
class TrainProcess {
 public:
  explicit TrainProcess(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), train_binary());
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
  }
  void kill(int signal) { ::kill(pid_, signal); }
  // Exit code, or 128 + signal.
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_;
};

void wait_for(const fs::path& path) {
  for (int i = 0; i < 6000 && !fs::exists(path); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_TRUE(fs::exists(path)) << path;
}

// "" when equal, else the first name that differs.
std::string first_difference(const StateDict& a, const StateDict& b) {
  for (const auto& [name, tensor] : a.entries()) {
    const Tensor* other = b.find(name);
    if (other == nullptr || !bitwise_equal(tensor, *other)) return name;
  }
  return a.size() == b.size() ? "" : "different entries";
}

std::vector<nlohmann::json> json_log(const fs::path& work_dir) {
  std::vector<nlohmann::json> lines;
  for (const auto& entry : fs::directory_iterator(work_dir)) {
    if (!entry.path().string().ends_with(".log.json")) continue;
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
  }
  return lines;
}

// Every term of the reference's log, all finite, and the run ends with an evaluation.
TEST(Training, LogsEveryLossOfHtcAndEvaluates) {
  TrainOptions with_evaluation = options({});
  with_evaluation.no_validate = false;
  Training training(with_evaluation);
  training.run();
  int train_lines = 0, val_lines = 0;
  for (const auto& line : json_log(with_evaluation.work_dir)) {
    if (line.value("mode", "") == "val") {
      ++val_lines;
      EXPECT_TRUE(line["bbox_mAP"].is_number());
      EXPECT_TRUE(line["segm_mAP"].is_number());
    }
    if (line.value("mode", "") != "train") continue;
    ++train_lines;
    for (const char* key : {"loss_rpn_cls", "loss_rpn_bbox", "loss_semantic_seg", "s0.loss_cls",
                            "s0.acc",       "s0.loss_bbox",  "s0.loss_mask",      "s1.loss_cls",
                            "s1.acc",       "s1.loss_bbox",  "s1.loss_mask",      "s2.loss_cls",
                            "s2.acc",       "s2.loss_bbox",  "s2.loss_mask",      "loss",
                            "grad_norm",    "time",          "data_time",         "lr",
                            "memory"}) {
      ASSERT_TRUE(line.contains(key)) << key;
      EXPECT_TRUE(line[key].is_number()) << key << ": " << line[key];
    }
  }
  EXPECT_EQ(train_lines, 4);
  EXPECT_EQ(val_lines, 1);
}

// SIGKILL in the middle of an epoch, then --auto-resume: the same weights, optimizer and hooks as a run that
// nothing happened to, bit for bit.
TEST(Training, SurvivesSigkill) {
  const std::vector<std::string> flags = {kConfig,
                                          "--no-validate",
                                          "--device",
                                          "cpu",
                                          "--cfg-options",
                                          "checkpoint_config.by_epoch=false",
                                          "checkpoint_config.interval=1"};
  const auto started_in = [&](const std::string& work_dir) {
    std::vector<std::string> arguments = {"--work-dir", work_dir, "--auto-resume"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return TrainProcess(arguments);
  };
  const std::string whole = fresh_dir(), killed = fresh_dir();
  EXPECT_EQ(started_in(whole).wait(), 0);
  TrainProcess victim = started_in(killed);
  wait_for(killed + "/iter_3.safetensors");
  victim.kill(SIGKILL);
  EXPECT_EQ(victim.wait(), 128 + SIGKILL);
  EXPECT_FALSE(fs::exists(killed + "/iter_8.safetensors"));
  EXPECT_EQ(started_in(killed).wait(), 0);

  const Checkpoint a = read_checkpoint(whole + "/iter_8.safetensors");
  const Checkpoint b = read_checkpoint(killed + "/iter_8.safetensors");
  EXPECT_EQ(first_difference(a.weights, b.weights), "");
  EXPECT_EQ(first_difference(a.optimizer, b.optimizer), "");
  EXPECT_EQ(a.meta.iter, b.meta.iter);
}

TEST(Training, EndsCleanlyOnSigint) {
  const std::string work_dir = fresh_dir();
  TrainProcess process({kConfig, "--work-dir", work_dir, "--no-validate", "--device", "cpu", "--cfg-options",
                        "checkpoint_config.by_epoch=false", "checkpoint_config.interval=1",
                        "runner.max_epochs=1000"});
  wait_for(work_dir + "/iter_2.safetensors");
  process.kill(SIGINT);
  EXPECT_EQ(process.wait(), 130);
  for (const auto& entry : fs::directory_iterator(work_dir)) {
    EXPECT_EQ(entry.path().string().find(".tmp"), std::string::npos) << entry.path();
    if (entry.path().extension() == ".safetensors") read_checkpoint(entry.path());
  }
}

StateDict state_of(Runner& runner) {
  const Checkpoint checkpoint = runner.checkpoint();
  StateDict state;
  const auto add = [&](const std::string& prefix, const StateDict& part) {
    for (const auto& [name, tensor] : part.entries()) state.put(prefix + name, tensor.clone());
  };
  add("", checkpoint.weights);
  add("optimizer.", checkpoint.optimizer);
  add("half.", runner.model().state_dict());
  const auto ema = checkpoint.hooks.find("EMAHook");
  if (ema != checkpoint.hooks.end()) add("ema.", ema->second);
  return state;
}

class Snapshots final : public Hook {
 public:
  void before_train_iter(Runner& runner) override { before = state_of(runner); }
  void after_skipped_iter(Runner& runner, const std::string&) override {
    ++skipped;
    EXPECT_EQ(first_difference(before, state_of(runner)), "");
  }
  StateDict before;
  int skipped = 0;
};

// An overflow at iteration k leaves weights, masters, optimizer, BatchNorm statistics and EMA bitwise
// untouched, with a static scale, a dynamic one, bf16 and f32.
TEST(Training, AForcedOverflowLeavesNothingBehind) {
  for (const char* precision :
       {"fp16.loss_scale=64.", "fp16.loss_scale={_delete_: true, init_scale: 64}", "fp16=null"}) {
    Training training(options({precision, "runner.max_epochs=1",
                               "debug={inject: [{at: roi_head.bbox_head.1.fc_cls, iter: 2}]}",
                               "custom_hooks=[{type: EMAHook, warm_up: 1, momentum: 0.5}]"}));
    auto owned = Hook::identify("Snapshots", std::make_unique<Snapshots>());
    Snapshots* snapshots = owned.get();
    training.runner().register_hook(std::move(owned));
    training.run();
    EXPECT_EQ(snapshots->skipped, 1) << precision;
    EXPECT_EQ(training.runner().iter(), 4);
  }
}

// Its own average of one parameter: after committed steps alone.
class OwnAverage final : public Hook {
 public:
  static constexpr char kName[] = "rpn_head.rpn_cls.bias";
  void before_run(Runner& runner) override { average = runner.weights().find(kName)->value.to_doubles(); }
  void after_train_iter(Runner& runner) override {
    const std::vector<double> weights = runner.weights().find(kName)->value.to_doubles();
    for (size_t i = 0; i < average.size(); ++i) average[i] = 0.5 * average[i] + 0.5 * weights[i];
    ++steps;
  }
  std::vector<double> average;
  int steps = 0;
};

// At the end of the epoch the model holds the averages, to which the overflow has added nothing.
TEST(Training, TheAverageFollowsCommittedStepsAlone) {
  Training training(options({"fp16.loss_scale=64.", "runner.max_epochs=1",
                             "debug={inject: [{at: roi_head.bbox_head.1.fc_cls, iter: 1}]}",
                             "custom_hooks=[{type: EMAHook, warm_up: 1, momentum: 0.5}]"}));
  auto owned = Hook::identify("OwnAverage", std::make_unique<OwnAverage>());
  const OwnAverage* own = owned.get();
  training.runner().register_hook(std::move(owned), Priority::kVeryHigh);
  training.run();
  EXPECT_EQ(own->steps, 3);
  const std::vector<double> averaged =
      training.runner().weights().find(OwnAverage::kName)->value.to_doubles();
  for (size_t i = 0; i < averaged.size(); ++i) EXPECT_NEAR(averaged[i], own->average[i], 1e-6);
}

// A newest checkpoint that a full disk has cut is passed over, and the run ends where it would have.
TEST(Training, AutoResumePassesOverADamagedCheckpoint) {
  const std::string work_dir = fresh_dir();
  Training whole(options({}, work_dir));
  whole.run();
  const Checkpoint expected = read_checkpoint(work_dir + "/epoch_2.safetensors");
  fs::resize_file(work_dir + "/epoch_2.safetensors", fs::file_size(work_dir + "/epoch_2.safetensors") - 10);
  TrainOptions again = options({}, work_dir);
  again.auto_resume = true;
  ::testing::internal::CaptureStdout();
  Training resumed(again);
  const std::string log = ::testing::internal::GetCapturedStdout();
  EXPECT_NE(log.find("epoch_2.safetensors: not a valid safetensors file"), std::string::npos) << log;
  EXPECT_NE(log.find("resume from " + work_dir + "/epoch_1.safetensors"), std::string::npos) << log;
  EXPECT_EQ(resumed.runner().epoch(), 1);
  resumed.run();
  EXPECT_EQ(first_difference(read_checkpoint(work_dir + "/epoch_2.safetensors").weights, expected.weights),
            "");
  for (const char* name : {"/epoch_1.safetensors", "/epoch_2.safetensors"})
    fs::resize_file(work_dir + name, 100);
  EXPECT_THROW(Training{again}, UserError);
}

// Fine-tuning on another number of classes: the heads are listed and stay as drawn, the rest is loaded. To
// resume from it is an error.
TEST(Training, FineTunesOnAnotherClassCount) {
  const std::string work_dir = fresh_dir();
  Training first(options({"runner.max_epochs=1"}, work_dir));
  first.run();
  const std::string checkpoint = work_dir + "/epoch_1.safetensors";
  Checkpoint other = read_checkpoint(checkpoint);
  for (int stage = 0; stage < 3; ++stage) {
    const std::string head = str_cat("roi_head.bbox_head.", stage, ".fc_cls.");
    const int64_t features = other.weights.find(head + "weight")->dim(1);
    other.weights.put(head + "weight", Tensor::zeros({81, features}, DType::kF32));
    other.weights.put(head + "bias", Tensor::zeros({81}, DType::kF32));
  }
  const std::string published = work_dir + "/coco.pth";
  write_checkpoint(published, other);
  ::testing::internal::CaptureStdout();
  Training tuned(options({"load_from=" + published}));
  const std::string log = ::testing::internal::GetCapturedStdout();
  EXPECT_NE(log.find("size mismatch for roi_head.bbox_head.2.fc_cls.weight: shape (81, "), std::string::npos)
      << log;
  EXPECT_EQ(log.find("missing keys"), std::string::npos) << log;
  EXPECT_TRUE(bitwise_equal(*tuned.runner().weights().state_dict().find("backbone.conv1.weight"),
                            *other.weights.find("backbone.conv1.weight")));
  EXPECT_THROW(Training(options({"resume_from=" + published})), UserError);
}

TEST(Training, TheSameSeedGivesTheSameWeights) {
  StateDict first;
  for (const int workers : {0, 2}) {
    Training training(options({"runner.max_epochs=1", "data.workers_per_gpu=" + std::to_string(workers)}));
    training.run();
    const StateDict weights = training.runner().weights().state_dict();
    if (first.size() == 0) {
      for (const auto& [name, tensor] : weights.entries()) first.put(name, tensor.clone());
    } else {
      EXPECT_EQ(first_difference(first, weights), "");
    }
  }
}

// A wrong flag, a wrong key, a missing file, a wrong device: exit code 2 before the first iteration.
TEST(Training, UserErrorsExitWithTwo) {
  const std::string work_dir = fresh_dir();
  const std::vector<std::vector<std::string>> wrong = {
      {kConfig, "--frobnicate"},
      {"no_such.yaml"},
      {kConfig, "--cfg-options", "optimizer.lr_=1"},
      {kConfig, "--device", "cuda:64"},  // no machine of a test has as many, the emulated one included
      {kConfig, "--launcher", "pytorch"},
      {kConfig, "--resume-from", "no_such.safetensors"},
      {kConfig, "--check", "--cfg-options", "model.roi_head.bbox_head.0.num_classes=7"},
      {kConfig, "--cfg-options", "load_from=no_such.safetensors"},
  };
  for (std::vector<std::string> arguments : wrong) {
    arguments.insert(arguments.end(), {"--work-dir", work_dir});
    EXPECT_EQ(TrainProcess(arguments).wait(), 2) << join(arguments, " ");
  }
}

// Each would otherwise be ignored without a word, or train for ever.
TEST(Training, RefusesConfigsThatCannotMeanAnything) {
  for (const char* wrong :
       {"fp16.loss_scales=64.", "optimizer_config.grad_clips=null", "data.val.num_image=2",
        "test_pipeline.1.transforms.0.keep_ratios=true", "workflow=[]", "workflow=[[val, 1]]",
        "workflow=[[train, 0]]", "workflow=[[train, -1]]", "optimizer.lr=inf", "optimizer.lr=nan"}) {
    TrainOptions with_evaluation = options({wrong});
    with_evaluation.no_validate = false;
    EXPECT_THROW(Training training(with_evaluation), UserError) << wrong;
  }
}

// The run goes through, but scripts must see that its checkpoint is worth nothing.
TEST(Training, ARunOfSkipsAloneIsNoSuccess) {
  Training training(options(
      {"fp16={_delete_: true, loss_scale: 1e30, max_consecutive_skips: 100}", "runner.max_epochs=1"}));
  try {
    training.run();
    FAIL() << "it looks like a success";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 1);
    EXPECT_EQ(std::string(error.what())
                  .find("nothing was learned: all 4 iterations of this run were skipped, the "),
              0u)
        << error.what();
  }
  EXPECT_EQ(training.runner().committed_iters(), 0);
}

// A dump of the scaled config is not scaled again.
TEST(Training, ScalesTheLearningRateByTheBatch) {
  const ConfigNode config =
      parse_config("{optimizer: {lr: 0.02}, auto_scale_lr: {enable: true, base_batch_size: 8}}");
  const ConfigNode scaled = with_scaled_lr(config, /*wanted=*/false, /*batch_size=*/2);
  EXPECT_DOUBLE_EQ(scaled["optimizer"].get<double>("lr"), 0.005);
  EXPECT_DOUBLE_EQ(with_scaled_lr(scaled, false, 2)["optimizer"].get<double>("lr"), 0.005);
  const ConfigNode plain = parse_config("{optimizer: {lr: 0.02}}");
  EXPECT_DOUBLE_EQ(with_scaled_lr(plain, false, 2)["optimizer"].get<double>("lr"), 0.02);
  EXPECT_DOUBLE_EQ(with_scaled_lr(plain, true, 2)["optimizer"].get<double>("lr"), 0.0025);
}

TEST(Training, CheckTrainsNothing) {
  const std::string work_dir = fresh_dir() + "/unmade";
  EXPECT_EQ(TrainProcess({kConfig, "--check", "--work-dir", work_dir}).wait(), 0);
  EXPECT_FALSE(fs::exists(work_dir));
}

TEST(LrAdvice, FollowsTheLinearScalingRule) {
  EXPECT_NE(lr_advice("SGD", 0.02, 2).find("optimizer.lr=0.0025"), std::string::npos);
  EXPECT_EQ(lr_advice("SGD", 0.02, 16), "");
  EXPECT_EQ(lr_advice("SGD", 0.0025, 2), "");
  EXPECT_EQ(lr_advice("AdamW", 0.02, 2), "");
}

}  // namespace
}  // namespace osprey
