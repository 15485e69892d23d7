#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "core/io/pth.h"
#include "core/runner/checkpoint.h"
#include "core/runner/resume_report.h"
#include "tests/hooks/fake_training.h"

namespace osprey {
namespace {

using testing::everything;
using testing::FakeTraining;
using testing::first_difference;

const std::string kHooks =
    "custom_hooks: [{type: EMAHook, warm_up: 1, momentum: 0.5}]\n"
    "lr_config: {policy: step, step: [2], warmup: linear, warmup_iters: 5, warmup_ratio: 0.1}\n";

std::string epochs(const std::string& more) {
  return "runner: {type: EpochBasedRunner, max_epochs: 4}\n"
         "optimizer: {type: AdamW, lr: 0.01}\n" +
         kHooks + more;
}

std::string iterations(const std::string& more, int max_iters = 10) {
  return "runner: {type: IterBasedRunner, max_iters: " + std::to_string(max_iters) +
         "}\n"
         "optimizer: {type: SGD, lr: 0.05, momentum: 0.9}\n" +
         more;
}

// Runs to the end, and again from `checkpoint` of the first run; both must end bitwise alike, with the same
// losses on the way.
void expect_resume_is_seamless(const std::string& yaml, const std::string& checkpoint) {
  FakeTraining whole(yaml);
  std::map<int64_t, double> losses;
  whole.probe().at_before_iter = [&](Runner& r) {
    losses[r.iter()] = r.model().forward_train(r.batch()).total().value().item();
    r.model().discard_buffers();
  };
  whole.run();
  FakeTraining resumed(yaml);
  resumed.resume(whole.work_dir() + "/" + checkpoint);
  int compared = 0;
  resumed.probe().at_before_iter = [&](Runner& r) {
    ++compared;
    EXPECT_EQ(r.model().forward_train(r.batch()).total().value().item(), losses.at(r.iter())) << r.iter();
    r.model().discard_buffers();
  };
  resumed.run();
  EXPECT_GT(compared, 0);
  EXPECT_EQ(first_difference(everything(whole.runner(), {"CheckpointHook"}),
                             everything(resumed.runner(), {"CheckpointHook"})),
            "");
}

// STORIES 19, 21, 26: weights, masters, moments, scaler, averages, schedule.
TEST(Resume, ContinuesBitwiseAfterAnEpoch) {
  for (const char* precision :
       {"", "fp16: {loss_scale: {init_scale: 1024, scale_window: 3}}", "fp16: {}", "bf16: {}"})
    expect_resume_is_seamless(epochs(std::string("checkpoint_config: {interval: 1}\n") + precision),
                              "epoch_2.safetensors");
}

TEST(Resume, ContinuesBitwiseInsideAnEpoch) {
  expect_resume_is_seamless(
      epochs("checkpoint_config: {interval: 3, by_epoch: false}\nfp16: {loss_scale: 128}"),
      "iter_6.safetensors");
}

TEST(Resume, ContinuesIterationBasedRuns) {
  expect_resume_is_seamless(
      iterations("checkpoint_config: {interval: 3}\nlr_config: {policy: poly, power: 0.9}"),
      "iter_6.safetensors");
}

// STORY 24: saved in the middle of an accumulation window; the last window is shorter.
TEST(Resume, ContinuesInsideAnAccumulationWindow) {
  for (const char* precision : {"", "fp16: {loss_scale: 64}"}) {
    expect_resume_is_seamless(
        iterations(
            std::string("optimizer_config: {type: GradientCumulativeOptimizerHook, cumulative_iters: 4}\n"
                        "checkpoint_config: {interval: 3}\n") +
            precision),
        "iter_6.safetensors");
  }
}

TEST(Resume, ContinuesAfterASkip) {
  expect_resume_is_seamless(
      epochs("checkpoint_config: {interval: 1}\nfp16: {loss_scale: {init_scale: 64}}\n"
             "debug: {inject: [{at: head.weight, iter: 5}, {at: head.weight, iter: 9}]}"),
      "epoch_2.safetensors");
}

// STORY 21.
TEST(Checkpoint, HoldsTheMasters) {
  FakeTraining training(iterations("fp16: {}\ncheckpoint_config: {interval: 1}", 1));
  training.runner().weights().find("backbone.bias")->value.fill(1 + 0x1p-20);
  training.runner().optimizer().groups()[0].initial_lr = training.runner().optimizer().groups()[0].lr = 0;
  training.run();
  const Checkpoint saved = read_checkpoint(training.work_dir() + "/iter_1.safetensors");
  EXPECT_EQ(saved.weights.find("backbone.bias")->to_doubles()[0], 1 + 0x1p-20);
  EXPECT_EQ(saved.meta.iter, 1);
  EXPECT_EQ(saved.meta.classes, (std::vector<std::string>{"a", "b", "c"}));
}

// STORIES 18 and 19: what the user edited wins, and the log says so.
TEST(Resume, EditedConfigWinsAndIsReported) {
  FakeTraining first(epochs("checkpoint_config: {interval: 1}\nfp16: {loss_scale: 512}"));
  first.run();
  std::string edited = epochs("checkpoint_config: {interval: 1}\nfp16: {loss_scale: 64}");
  edited.replace(edited.find("lr: 0.01"), 8, "lr: 0.02");
  ::testing::internal::CaptureStdout();
  FakeTraining second(edited);
  second.resume(first.work_dir() + "/epoch_1.safetensors");
  double first_lr = 0;
  second.probe().at_before_iter = [&](Runner& r) {
    if (first_lr == 0) first_lr = r.optimizer().groups()[0].initial_lr;
  };
  second.run();
  const std::string log = ::testing::internal::GetCapturedStdout();
  EXPECT_NE(log.find("optimizer.lr: config 0.02, checkpoint 0.01: using config"), std::string::npos) << log;
  EXPECT_NE(log.find("fp16.loss_scale was edited: config 64 (static), checkpoint 512: using config"),
            std::string::npos)
      << log;
  EXPECT_EQ(first_lr, 0.02);
  EXPECT_EQ(second.runner().step_hook().loss_scale(), 64);
}

// STORY 25: another batch size is as good as another learning rate.
TEST(Resume, AnotherBatchSizeIsReported) {
  const auto differences =
      resume_differences(parse_config("{data: {samples_per_gpu: 4}, optimizer: {lr: 0.02}}"),
                         "{data: {samples_per_gpu: 2, workers_per_gpu: 1}, optimizer: {lr: 0.02}}");
  ASSERT_EQ(differences.size(), 1u);
  EXPECT_EQ(differences[0].key, "data.samples_per_gpu");
  EXPECT_EQ(differences[0].config + " " + differences[0].checkpoint, "4 2");
}

TEST(Resume, RefusesAnotherModel) {
  FakeTraining training(iterations("checkpoint_config: {interval: 1}", 1));
  training.run();
  Checkpoint saved = read_checkpoint(training.work_dir() + "/iter_1.safetensors");
  saved.weights.put("head.bias", Tensor::zeros({5}, DType::kF32));
  FakeTraining other(iterations(""));
  EXPECT_THROW(other.runner().resume(saved, "x.safetensors"), UserError);
}

// In whatever part of it: the first step would carry it into the weights.
TEST(Resume, RefusesANonFiniteCheckpoint) {
  const std::string yaml = epochs("checkpoint_config: {interval: 1}\nfp16: {}");
  FakeTraining whole(yaml);
  whole.run();
  const std::string path = whole.work_dir() + "/epoch_2.safetensors";
  const Tensor bad = Tensor::full({1}, std::numeric_limits<double>::infinity(), DType::kF32);
  for (const char* part : {"weights", "optimizer", "hooks"}) {
    Checkpoint checkpoint = read_checkpoint(path);
    const std::string name = part;
    StateDict& state = name == "weights"     ? checkpoint.weights
                       : name == "optimizer" ? checkpoint.optimizer
                                             : checkpoint.hooks.at("EMAHook");
    state.put(state.entries()[0].first, bad);
    FakeTraining resumed(yaml);
    EXPECT_THROW(resumed.runner().resume(checkpoint, path), UserError) << part;
  }
}

TEST(OptimizerHooks, TwoAreAConfigError) {
  EXPECT_THROW(FakeTraining(iterations(
                   "custom_hooks: [{type: GradientCumulativeOptimizerHook, cumulative_iters: 2}]")),
               UserError);
}

// Accumulating c batches is one step with the mean of their gradients: with one SGD step each way, the sum
// over windows can be followed by hand; here: c = 2 differs from c = 1, and its last window is shorter.
TEST(Accumulation, StepsOncePerWindow) {
  FakeTraining training(iterations("optimizer_config: {cumulative_iters: 4}"));
  std::vector<int64_t> steps;
  training.probe().at_after_train_iter = [&](Runner& r) { steps.push_back(r.iter()); };
  training.run();
  EXPECT_EQ(steps, (std::vector<int64_t>{3, 7, 9}));
}

TEST(CheckpointHook, KeepsTheLastAndLinksTheLatest) {
  namespace fs = std::filesystem;
  FakeTraining training(epochs("checkpoint_config: {interval: 1, max_keep_ckpts: 2}"));
  training.run();
  const fs::path dir = training.work_dir();
  EXPECT_FALSE(fs::exists(dir / "epoch_2.safetensors"));
  EXPECT_TRUE(fs::exists(dir / "epoch_3.safetensors"));
  EXPECT_EQ(fs::read_symlink(dir / "latest.safetensors"), "epoch_4.safetensors");
  const std::vector<std::string> kept = {dir / "epoch_4.safetensors", dir / "epoch_3.safetensors"};
  EXPECT_EQ(find_checkpoints(dir), kept);
  fs::remove(dir / "latest.safetensors");
  EXPECT_EQ(find_checkpoints(dir), kept);
  EXPECT_TRUE(find_checkpoints(dir / "none").empty());
}

// PyTorch's format holds all that a run needs, too.
TEST(CheckpointHook, NamesInPthArePyTorchsFormatAndResumable) {
  namespace fs = std::filesystem;
  const std::string template_line = "checkpoint_config: {interval: 1, filename_tmpl: 'state_{}.pth'}\n";
  FakeTraining training(epochs(template_line));
  training.run();
  const fs::path dir = training.work_dir();
  EXPECT_TRUE(is_pth(dir / "state_2.pth"));
  EXPECT_EQ(fs::read_symlink(dir / "latest.pth"), "state_4.pth");
  EXPECT_EQ(find_checkpoints(dir), std::vector<std::string>{dir / "state_4.pth"});
  for (const char* precision : {"", "fp16: {loss_scale: {init_scale: 1024, scale_window: 3}}"})
    expect_resume_is_seamless(epochs(template_line + precision), "state_2.pth");
  EXPECT_THROW(FakeTraining(epochs("checkpoint_config: {interval: 1, filename_tmpl: 'state.pth'}")),
               UserError);
  EXPECT_THROW(FakeTraining(epochs("checkpoint_config: {interval: 1, filename_tmpl: 'e_{}.bin'}")),
               UserError);
}

// Weights alone are no run to continue; the message says what they are good for.
TEST(Resume, RefusesWeightsAlone) {
  FakeTraining training(iterations("checkpoint_config: {interval: 1}", 1));
  training.run();
  Checkpoint saved = read_checkpoint(training.work_dir() + "/iter_1.safetensors");
  saved.meta.recorded = false;
  FakeTraining other(iterations(""));
  try {
    other.runner().resume(saved, "x.pth");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("start from them with load_from=x.pth"), std::string::npos);
  }
}

// STORY 44: weights can still become infinite by a huge step; such a checkpoint is no one's resume point.
TEST(CheckpointHook, ANonFiniteCheckpointIsNeverTheLatest) {
  namespace fs = std::filesystem;
  FakeTraining training(epochs("checkpoint_config: {interval: 1}"));
  training.probe().at_after_train_iter = [](Runner& r) {
    if (r.iter() == 15) r.weights().find("head.weight")->value.fill(1e300);
  };
  training.run();
  EXPECT_TRUE(fs::exists(training.work_dir() + "/epoch_4.safetensors"));
  EXPECT_EQ(fs::read_symlink(training.work_dir() + "/latest.safetensors"), "epoch_3.safetensors");
}

TEST(Interrupt, EndsAfterTheIteration) {
  FakeTraining training(epochs("checkpoint_config: {interval: 1}"));
  training.probe().at_after_train_iter = [](Runner& r) {
    if (r.iter() == 5) r.request_stop();
  };
  try {
    training.run();
    FAIL();
  } catch (const Interrupted& stop) {
    EXPECT_EQ(stop.exit_code(), 130);
    EXPECT_EQ(std::string(stop.what()),
              str_cat("interrupted after iteration 6: 2 iterations since ", training.work_dir(),
                      "/epoch_1.safetensors are lost; --auto-resume goes on from there"));
  }
  EXPECT_EQ(training.runner().iter(), 6);
}

TEST(Interrupt, SaysWhatIsLost) {
  const auto words = [](const std::string& more) -> std::string {
    FakeTraining training(iterations(more));
    training.probe().at_after_train_iter = [](Runner& r) {
      if (r.iter() == 5) r.request_stop();
    };
    try {
      training.run();
    } catch (const Interrupted& stop) {
      return stop.what();
    }
    return "";
  };
  EXPECT_NE(words("").find("no checkpoint was saved, all of it is lost"), std::string::npos) << words("");
  EXPECT_NE(words("checkpoint_config: {interval: 3}").find("all of it is in "), std::string::npos);
}

TEST(Resume, SaysWhenNothingIsLeftToTrain) {
  const std::string yaml = epochs("checkpoint_config: {interval: 1}");
  FakeTraining whole(yaml);
  whole.run();
  FakeTraining again(yaml);
  again.resume(whole.work_dir() + "/epoch_4.safetensors");
  again.probe().at_before_iter = [](Runner&) { ADD_FAILURE() << "it trains on"; };
  ::testing::internal::CaptureStdout();
  again.run();
  const std::string log = ::testing::internal::GetCapturedStdout();
  EXPECT_NE(log.find("epoch_4.safetensors is at epoch 4, iter 16 (max: 4 epochs)"), std::string::npos) << log;
}

TEST(Runs, WithTheSameSeedAreTheSame) {
  FakeTraining a(epochs("fp16: {}")), b(epochs("fp16: {}"));
  a.run();
  b.run();
  EXPECT_EQ(first_difference(everything(a.runner()), everything(b.runner())), "");
}

}  // namespace
}  // namespace osprey
