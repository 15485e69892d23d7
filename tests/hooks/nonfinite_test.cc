#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/runner/bad_input.h"
#include "tests/hooks/fake_training.h"

// What a run says and does when something is not finite.
namespace osprey {
namespace {

using testing::FakeTraining;

std::string config(const std::string& more, int epochs = 2) {
  return "runner: {type: EpochBasedRunner, max_epochs: " + std::to_string(epochs) +
         "}\noptimizer: {type: SGD, lr: 0.00001}\n" + more;
}

std::string output_of(FakeTraining& training) {
  ::testing::internal::CaptureStdout();
  std::string failure;
  try {
    training.run();
  } catch (const Error& error) {
    failure = error.what();
  }
  const std::string output = ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(failure, "") << output;
  return output;
}

// The message of the error that ends a run.
std::string error_of(FakeTraining& training) {
  try {
    training.run();
  } catch (const Error& error) {
    EXPECT_NE(error.exit_code(), 0);
    return error.what();
  }
  return "no error";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void put_nan(Batch& batch) {
  batch.img.mutable_data<float>()[12 + 7] =
      std::numeric_limits<float>::quiet_NaN();  // image 1: y 1, x 0, channel 1
}

// STORY 1: gradients of some hundred: a static 512 overflows half on every batch. The run goes on as far as
// it may, and the warning names a layer and a scale at which the same batch is finite.
TEST(StaticScale, NamesTheLayerAndTheLargestSafeScale) {
  FakeTraining training(config("fp16: {loss_scale: 512., max_consecutive_skips: 100}"), /*gain=*/3000);
  const std::string log = output_of(training);
  EXPECT_TRUE(contains(log, "gradient overflow at loss_scale 512 in ")) << log;
  EXPECT_TRUE(contains(log, "; largest safe power of two here: ")) << log;
  EXPECT_TRUE(contains(log, "; iteration skipped (1 so far)")) << log;
  EXPECT_TRUE(contains(log, "Cure: fp16.loss_scale=")) << log;
  EXPECT_GT(training.runner().skips().total(), 0);

  // The advice is good: at that scale no iteration overflows for the same reason.
  const size_t at = log.find("largest safe power of two here: ") + 32;
  const double safe = std::stod(log.substr(at));
  EXPECT_GE(safe, 1);
  EXPECT_LT(safe, 512);
  FakeTraining cured(config("fp16: {loss_scale: " + std::to_string(safe / 4) + "}"), 3000);
  cured.run();
  EXPECT_EQ(cured.runner().skips().total(), 0);
}

// STORY 4: a constant NaN in the input is no overflow: the scale stays, and the run ends and names the file.
TEST(BadInput, StopsWithTheFileAndThePixel) {
  FakeTraining training(config("fp16: {loss_scale: {init_scale: 1024}}", 20));
  training.source().edit = put_nan;
  const std::string error = error_of(training);
  EXPECT_TRUE(contains(error, "bad input: file second.jpg: pixel (x 0, y 1) of channel 1 is nan")) << error;
  EXPECT_TRUE(contains(error, "10 consecutive iterations")) << error;
  EXPECT_EQ(training.runner().step_hook().loss_scale(), 1024);
}

TEST(BadInput, NonFiniteBoxesAreNamed) {
  Batch batch;
  batch.img_metas.resize(1);
  batch.img_metas[0].filename = "a.jpg";
  batch.gt_bboxes = {
      Tensor::from<float>({0, 0, 1, 1, 0, std::numeric_limits<float>::infinity(), 1, 1}, {2, 4})};
  EXPECT_EQ(describe_bad_input(batch), "file a.jpg: box 1 has the coordinate inf");
}

// STORY 15: what the dynamic scaler absorbs is no event.
TEST(DynamicScale, SearchesWithoutStoppingOrDiagnosing) {
  FakeTraining training(config("fp16: {loss_scale: dynamic}", 20), 3000);
  const std::string log = output_of(training);
  EXPECT_GT(training.runner().skips().total(), 12);
  EXPECT_LT(training.runner().skips().total(), 40);
  EXPECT_TRUE(contains(log, "Check overflow, downscale loss scale to 2147483648")) << log.substr(0, 3000);
  EXPECT_FALSE(contains(log, "largest safe"));
  EXPECT_LT(training.runner().step_hook().loss_scale(), 512);
}

// An overflow that no scale cures is not searched for to the end of time.
TEST(DynamicScale, StopsAtTheFloor) {
  FakeTraining training(config("fp16: {loss_scale: {init_scale: 4}}", 40), /*gain=*/3e6);
  const std::string error = error_of(training);
  EXPECT_TRUE(contains(error, "it overflows in half at any loss scale, fp32 is finite")) << error;
  EXPECT_TRUE(contains(error, "Cure: fp16.keep_fp32=[")) << error;
}

TEST(ActivationOverflow, IsToldFromDivergence) {
  const auto big = [](Batch& batch) {
    float* pixels = batch.img.mutable_data<float>();
    for (int64_t i = 0; i < batch.img.numel(); ++i) pixels[i] = 60000;
  };
  FakeTraining half(config("fp16: {loss_scale: 1}\non_nonfinite: stop"), 1e-9);
  half.source().edit = big;
  const std::string in_half = error_of(half);
  EXPECT_TRUE(contains(in_half, "activation overflow in half in ")) << in_half;
  EXPECT_TRUE(contains(in_half, "keep_fp32=[")) << in_half;
  EXPECT_TRUE(contains(in_half, "loss_cls")) << in_half;
}

TEST(Divergence, IsNonFiniteInFp32Too) {
  FakeTraining training(config("on_nonfinite: stop"), /*gain=*/3e38);
  training.source().edit = [](Batch& batch) { batch.img.fill(1e4); };
  const std::string error = error_of(training);
  EXPECT_TRUE(contains(error, "divergence: non-finite in fp32 too")) << error;
  EXPECT_TRUE(contains(error, "optimizer.lr")) << error;
}

// STORY 45.
TEST(OnNonfinite, StopEndsTheRunAtOnceAndSkipGoesOn) {
  const std::string fault = "debug: {inject: [{at: head.weight, phase: backward, iter: 3}]}\n";
  FakeTraining stop(config(fault + "on_nonfinite: stop"));
  const std::string error = error_of(stop);
  EXPECT_TRUE(contains(error, "training stops at iteration 4")) << error;
  EXPECT_TRUE(contains(error, "head.weight")) << error;
  FakeTraining skip(config(fault + "on_nonfinite: skip"));
  skip.run();
  EXPECT_EQ(skip.runner().skips().total(), 1);
  EXPECT_THROW(FakeTraining(config("on_nonfinite: ignore")), UserError);
}

TEST(OnNonfinite, CheckInvalidLossHookStops) {
  FakeTraining training(
      config("debug: {inject: [{at: head, phase: forward, iter: 1}]}\n"
             "custom_hooks: [{type: CheckInvalidLossHook, interval: 1}]"));
  EXPECT_TRUE(contains(error_of(training), "loss become infinite or NaN! iteration 2"));
}

TEST(Weights, NonFiniteOnesNeverReachTheFirstIteration) {
  FakeTraining training(config(""));
  training.runner().weights().find("head.weight")->value.fill(std::numeric_limits<double>::infinity());
  EXPECT_THROW(training.run(), UserError);
}

TEST(FireDrill, UnknownPlacesAreErrors) {
  try {
    FakeTraining training(config("debug: {inject: [{at: haed.weight, iter: 1}]}"));
    FAIL();
  } catch (const UserError& error) {
    EXPECT_TRUE(contains(error.what(), "Did you mean 'head.weight'?")) << error.what();
  }
}

TEST(FireDrill, OneWithoutEffectSaysSo) {
  FakeTraining training(config("debug: {inject: [{at: head.weight, phase: backward, iter: 1, value: 0}]}"));
  const std::string log = output_of(training);
  EXPECT_TRUE(contains(log, "fire drill debug.inject[0]: put in, but losses and gradients stayed finite"))
      << log;
}

// STORIES 9 and 44: averages are over taken steps, skips are a field of their own, every line is JSON.
TEST(Log, AveragesTakenStepsOnly) {
  const std::string base = "log_config: {interval: 4, hooks: [{type: TextLoggerHook}]}\n";
  FakeTraining training(config(base + "debug: {inject: [{at: head, phase: forward, iter: 1, value: .nan}]}"));
  const std::string log = output_of(training);
  EXPECT_TRUE(contains(log, "skipped: 1/4")) << log;
  EXPECT_TRUE(contains(log, "non-finite loss_cls, loss_bbox (fire drill debug.inject[0])")) << log;
  EXPECT_TRUE(contains(log, "Epoch [1][4/4]\tlr: 1.000e-05, eta: 0:00:00, time: 0.0")) << log;
  std::ifstream in(training.work_dir() + "/20260131_224050.log.json");
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_TRUE(lines[0].contains("config"));
  EXPECT_EQ(lines[1]["mode"], "train");
  EXPECT_EQ(lines[1]["epoch"], 1);
  EXPECT_EQ(lines[1]["iter"], 4);
  EXPECT_EQ(lines[1]["skipped"], 1);
  EXPECT_TRUE(lines[1]["loss"].is_number());
  EXPECT_TRUE(lines[1]["grad_norm"].is_number());
  EXPECT_FALSE(lines[2].contains("skipped"));
}

}  // namespace
}  // namespace osprey
