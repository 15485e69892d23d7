#include "core/runner/forensics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>

#include "core/runner/headroom.h"
#include "core/runner/iteration_dump.h"
#include "core/runner/scale_advisor.h"
#include "tests/hooks/fake_training.h"

// Every verdict, end to end: the words of the log, the cure applied, the iteration kept and repeated.
namespace osprey {
namespace {

namespace fs = std::filesystem;
using testing::FakeDetector;
using testing::FakeTraining;

std::string config(const std::string& more, const std::string& optimizer = "{type: SGD, lr: 0.00001}") {
  return "runner: {type: EpochBasedRunner, max_epochs: 2}\noptimizer: " + optimizer + "\n" + more + "\n";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The log of a run, with the error that ended it.
std::string log_of(FakeTraining& training) {
  ::testing::internal::CaptureStdout();
  std::string failure;
  try {
    training.run();
  } catch (const Error& error) {
    failure = error.what();
  }
  return ::testing::internal::GetCapturedStdout() + failure;
}

// The first change that the log's first cure proposes, as YAML lines would have it: "fp16.loss_scale=64".
std::vector<std::string> cure_in(const std::string& log) {
  const size_t at = log.find("Cure: ");
  EXPECT_NE(at, std::string::npos) << log;
  std::string cure = log.substr(at + 6, log.find('\n', at) - at - 6);
  cure = cure.substr(0, cure.find(" or "));
  cure = cure.substr(0, cure.find(", "));
  return split(cure, ' ');
}

std::string cured(const std::string& yaml, const std::string& log) {
  return parse_config(yaml, "<cured>", cure_in(log)).to_yaml();
}

// Drops what is not in `image`: 2x2x3 pixels.
void scale_pixels(Batch& batch, float factor) {
  float* pixels = batch.img.mutable_data<float>();
  for (int64_t i = 0; i < batch.img.numel(); ++i) pixels[i] *= factor;
}

std::vector<std::string> kept_in(const std::string& work_dir) {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(work_dir + "/numerics", none))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

// A kept iteration with a fresh detector.
class Repeated {
 public:
  Repeated(const std::string& folder, FakeDetector& model)
      : dump_(read_iteration_dump(folder)), drill_(dump_.config.find("debug")), model_(model) {
    model.assign_paths();
    EXPECT_TRUE(model.load_state_dict(dump_.weights).clean());
    weights_ = std::make_unique<MasterWeights>(model);
    if (record().precision != DType::kF32) weights_->convert_model(record().precision, record().keep_fp32);
  }
  const IterationRecord& record() const { return dump_.record; }
  Scene scene() {
    return {model_,       *weights_,     dump_.batch,
            drill_,       record().iter, record().loss_factor,
            dump_.config, record().lr,   record().last_committed};
  }

 private:
  IterationDump dump_;
  FireDrill drill_;
  FakeDetector& model_;
  std::unique_ptr<MasterWeights> weights_;
};

// Repeats a kept iteration with a fresh detector: the losses and what was not finite are bitwise the logged
// ones, and the diagnosis has the same words.
void expect_reproduced(const std::string& folder, FakeDetector& model) {
  Repeated repeated(folder, model);
  const IterationRecord& record = repeated.record();
  const Scene scene = repeated.scene();
  ReplayOptions options;
  options.loss_scale = record.event.loss_scale;
  const Replay seen = replay(scene, options);
  ASSERT_EQ(seen.losses.size(), record.losses.size());
  for (size_t i = 0; i < record.losses.size(); ++i) {
    EXPECT_EQ(seen.losses[i].first, record.losses[i].first);
    const double a = seen.losses[i].second, b = record.losses[i].second;
    EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << record.losses[i].first << " " << a << " " << b;
  }
  const bool loss = record.event.where == NonFiniteEvent::Where::kLoss;
  EXPECT_EQ(loss ? seen.bad_losses : seen.bad_parameters, record.event.names);
  EXPECT_EQ(diagnose(scene, record.event).text(), record.diagnosis.text());
}

// --- Gradient overflow.

TEST(GradientOverflow, IsKeptRepeatedAndCured) {
  const std::string yaml = config("fp16: {loss_scale: 512.}\non_nonfinite: stop");
  FakeTraining training(yaml, /*gain=*/3000);
  const std::string log = log_of(training);
  ASSERT_TRUE(contains(log, "gradient overflow at loss_scale 512 in ")) << log;
  ASSERT_EQ(kept_in(training.work_dir()), std::vector<std::string>{"iter_1"});
  EXPECT_TRUE(contains(log, "tools/replay " + training.work_dir() + "/numerics/iter_1")) << log;
  FakeDetector fresh(3000, /*seed=*/77);
  expect_reproduced(training.work_dir() + "/numerics/iter_1", fresh);
  FakeTraining mended(cured(yaml, log), 3000);
  log_of(mended);
  EXPECT_GT(mended.runner().iter(), 0);
}

// The scale is measured, not guessed: at it the iteration is finite, at twice it is not.
TEST(GradientOverflow, TheSafeScaleIsTheLargest) {
  FakeTraining training(config("fp16: {loss_scale: 65536.}\non_nonfinite: stop"), 3000);
  const std::string log = log_of(training);
  const std::string scale = log.substr(log.find("safe power of two here: ") + 24);
  for (const double factor : {1.0, 2.0}) {
    FakeTraining tried(
        config("fp16: {loss_scale: " + std::to_string(std::stod(scale) * factor) + "}\non_nonfinite: stop"),
        3000);
    bool first_committed = false;
    tried.probe().at_after_train_iter = [&](Runner& r) { first_committed |= r.iter() == 0; };
    log_of(tried);
    EXPECT_EQ(first_committed, factor == 1) << scale;
  }
  // The cure leaves room for the gradients of other batches.
  EXPECT_EQ(cure_in(log).at(0), "fp16.loss_scale=" + std::to_string(std::stoi(scale) / 4));
}

// With accumulation the loss is divided: the replay must divide it, too.
TEST(GradientOverflow, InsideAnAccumulationWindowIsRepeated) {
  FakeTraining training(config("fp16: {loss_scale: 4096.}\noptimizer_config: {cumulative_iters: 4}\n"
                               "on_nonfinite: stop"),
                        3000);
  ASSERT_TRUE(contains(log_of(training), "gradient overflow at loss_scale 4096 in "));
  FakeDetector fresh(3000, 77);
  expect_reproduced(training.work_dir() + "/" + "numerics/" + kept_in(training.work_dir()).at(0), fresh);
}

// At the floor of a dynamic scale: layers are kept in f32 until the iteration is finite, and so is the run.
TEST(GradientOverflow, AtAnyScaleIsCuredByLayersInF32) {
  const std::string yaml =
      config("fp16: {loss_scale: {init_scale: 1}}\non_nonfinite: stop", "{type: SGD, lr: 1.e-30}");
  FakeTraining training(yaml, 3e6);
  const std::string log = log_of(training);
  ASSERT_TRUE(contains(log, "it overflows in half at any loss scale, fp32 is finite")) << log;
  ASSERT_TRUE(contains(log, "Cure: fp16.keep_fp32=[")) << log;
  FakeTraining mended(cured(yaml, log), 3e6);
  mended.run();
  EXPECT_EQ(mended.runner().skips().total(), 0);
}

// --- Headroom and advice.

// The forecast against what really happens at the scales around the limit, and far below it.
TEST(ScaleAdvisor, ForecastsWhatReplaysShow) {
  FakeTraining training(config("fp16: {loss_scale: 65536.}\non_nonfinite: stop"), 3000);
  log_of(training);
  FakeDetector fresh(3000, 77);
  Repeated repeated(training.work_dir() + "/numerics/iter_1", fresh);
  const Scene scene = repeated.scene();
  const ScaleAdvice advice = advise_scale(scene);
  ASSERT_EQ(advice.forecasts.size(), 25u);
  EXPECT_EQ(advice.advised, advice.measured_at / 4);
  const auto half_gradients_at = [&](double scale) {
    Magnitudes all;
    const Replay seen = replay(scene, {scale, {}, true, [&](const OpRecord& op) {
                                         if (op.backward && op.dtype == DType::kF16) all.merge(op.seen);
                                       }});
    EXPECT_EQ(seen.finite(), all.finite());
    return all;
  };
  const Magnitudes reference = half_gradients_at(advice.measured_at);
  for (const ScaleForecast& forecast : advice.forecasts) {
    const Magnitudes seen = half_gradients_at(forecast.scale);
    EXPECT_EQ(forecast.overflowed > 0, !seen.finite()) << forecast.scale;
    EXPECT_EQ(forecast.scale > advice.measured_at, !seen.finite()) << forecast.scale;
    if (!seen.finite()) continue;
    const double flushed = static_cast<double>(seen.zeros - reference.zeros) / reference.nonzero();
    EXPECT_NEAR(forecast.flushed, flushed, 0.02) << forecast.scale;
  }
  EXPECT_FALSE(advice.forecasts[0].limiting.empty());
}

TEST(Forecast, MovesBinades) {
  const Tensor values = Tensor::from<float>({0, 0x1p-24F, 0x1p-20F, 1, 40000, -60000}, {6});
  const Magnitudes seen = measure_magnitudes(values);
  EXPECT_EQ(forecast_half(seen, 1).overflowed, 0);
  EXPECT_EQ(forecast_half(seen, 1).flushed, 0);
  EXPECT_EQ(forecast_half(seen, 2).overflowed, 2);
  EXPECT_EQ(forecast_half(seen, 0x1p-2).flushed, 1);
  EXPECT_EQ(forecast_half(seen, 0x1p-6).flushed, 2);
  EXPECT_NEAR(overflow_binades(seen), std::log2(65520 / 60000.0), 1e-9);
  EXPECT_EQ(underflow_binades(seen), 24);  // the median is 1
}

TEST(Headroom, IsMeasuredLoggedAndTabled) {
  FakeTraining training(
      config("fp16: {loss_scale: 16.}\ndebug: {headroom_interval: 4}\n"
             "log_config: {interval: 4, hooks: [{type: TextLoggerHook}]}"));
  const std::string log = log_of(training);
  EXPECT_TRUE(contains(log, "overflow_binades: ")) << log;
  EXPECT_TRUE(contains(log, "underflow_binades: ")) << log;
  EXPECT_TRUE(contains(log, "headroom in half at iteration 5, in binades:")) << log;
  EXPECT_TRUE(contains(log, "  head.weight\n")) << log;
  EXPECT_TRUE(contains(log, "  backbone\n")) << log;
  EXPECT_FALSE(contains(log, "WARNING")) << log;
  FakeTraining exact(config("debug: {headroom_interval: 1}"));
  EXPECT_FALSE(contains(log_of(exact), "headroom"));
  FakeTraining off(config("fp16: {loss_scale: 16.}\ndebug: {headroom_interval: 0}"));
  EXPECT_FALSE(contains(log_of(off), "headroom"));
}

// Measuring changes nothing.
TEST(Headroom, LeavesTheRunAsItIs) {
  StateDict with, without;
  for (StateDict* state : {&with, &without}) {
    FakeTraining training(config(std::string("fp16: {loss_scale: 16.}\ndebug: {headroom_interval: ") +
                                 (state == &with ? "1}" : "0}")));
    log_of(training);
    *state = testing::everything(training.runner());
  }
  EXPECT_EQ(testing::first_difference(with, without), "");
}

// At the largest scale that is safe there is less than one binade left, and the log says so before it fails.
TEST(Headroom, WarnsBeforeTheFirstOverflow) {
  const std::string stop = "on_nonfinite: stop\ndebug: {headroom_interval: 1}\n";
  const auto same_pixels = [](Batch& batch) {
    batch.img.fill(0.25);
  };  // the cure's margin is no test of luck
  FakeTraining failed(config("fp16: {loss_scale: 65536.}\n" + stop), 3000);
  failed.source().edit = same_pixels;
  const std::string failure = log_of(failed);
  const std::string safe =
      std::to_string(std::stoi(failure.substr(failure.find("safe power of two here: ") + 24)));
  const std::string yaml = config("fp16: {loss_scale: " + safe + "}\n" + stop, "{type: SGD, lr: 1.e-30}");
  FakeTraining close(yaml, 3000);
  close.source().edit = same_pixels;
  const std::string log = log_of(close);
  ASSERT_TRUE(contains(log, "headroom: gradients come within 0.")) << log;
  FakeTraining mended(cured(yaml, log), 3000);
  mended.source().edit = same_pixels;
  const std::string after = log_of(mended);
  EXPECT_FALSE(contains(after, "headroom: gradients come within")) << after;
  EXPECT_EQ(mended.runner().iter(), 8);
}

// --- Activation overflow.

TEST(ActivationOverflow, IsKeptRepeatedAndCured) {
  const std::string yaml = config("fp16: {loss_scale: 1}\non_nonfinite: stop", "{type: SGD, lr: 1.e-30}");
  FakeTraining training(yaml, 1e-9);
  training.source().edit = [](Batch& batch) { scale_pixels(batch, 3e5); };
  const std::string log = log_of(training);
  ASSERT_TRUE(contains(log, "activation overflow in half in backbone (op ")) << log;
  EXPECT_TRUE(contains(log, ", forward, first ")) << log;
  EXPECT_TRUE(contains(log, "; of |x| ")) << log;
  EXPECT_TRUE(contains(log, "images: first.jpg, second.jpg")) << log;
  FakeDetector fresh(1e-9, 77);
  expect_reproduced(training.work_dir() + "/numerics/iter_1", fresh);
  const std::vector<std::string> cure = cure_in(log);
  EXPECT_TRUE(starts_with(cure.at(0), "fp16.keep_fp32=[backbone")) << cure[0];
  FakeTraining mended(cured(yaml, log), 1e-9);
  mended.source().edit = training.source().edit;
  int64_t losses_seen = 0;
  mended.probe().at_after_train_iter = [&](Runner&) { ++losses_seen; };
  const std::string after = log_of(mended);
  EXPECT_FALSE(contains(after, "activation overflow")) << after;
}

TEST(ActivationOverflow, KeepsWhatTheConfigKeepsAlready) {
  const std::string yaml =
      config("fp16: {loss_scale: 1, keep_fp32: [backbone]}\non_nonfinite: stop", "{type: SGD, lr: 1.e-30}");
  FakeTraining training(yaml, 1e-9);
  training.source().edit = [](Batch& batch) { scale_pixels(batch, 3e6); };
  const std::string log = log_of(training);
  EXPECT_TRUE(contains(log, "Cure: fp16.keep_fp32=[backbone,head]")) << log;
}

// --- Fire drills.

TEST(FireDrillReplay, RepeatsBothPhases) {
  for (const char* phase : {"forward", "backward"}) {
    const std::string yaml = config(
        "fp16: {loss_scale: 4}\ndebug: {inject: [{at: backbone, iter: 2, phase: " + std::string(phase) +
        ", value: .nan}]}");
    FakeTraining training(yaml);
    const std::string log = log_of(training);
    ASSERT_TRUE(contains(log, "(fire drill debug.inject[0])")) << log;
    ASSERT_EQ(kept_in(training.work_dir()), std::vector<std::string>{"iter_3"}) << phase;
    FakeDetector fresh(1, 77);
    expect_reproduced(training.work_dir() + "/numerics/iter_3", fresh);
    FakeTraining mended(cured(yaml, log));
    mended.run();
    EXPECT_EQ(mended.runner().skips().total(), 0);
  }
}

// --- The same in f32.

Variable logarithm(const Variable& x) {
  const double value = x.value().item();
  return record("log", Tensor::full({}, std::log(value), DType::kF32), {x}, [value](const Tensor& g) {
    return Gradients{Tensor::full({}, g.item() / value, DType::kF32)};
  });
}

TEST(Singularity, IsToldFromDivergence) {
  FakeTraining training(config("on_nonfinite: stop"));
  training.model().tail = logarithm;
  training.source().edit = [](Batch& batch) { batch.img.fill(0); };  // the biases are 0, too
  const std::string log = log_of(training);
  EXPECT_TRUE(contains(log, "log or division by zero at the model (op log, forward, first inf; of ")) << log;
  EXPECT_TRUE(contains(log, "1 zero")) << log;
  EXPECT_TRUE(contains(log, "in fp32 too; loss terms: loss_cls, loss_bbox; images: first.jpg")) << log;
}

// A sum of products that overflows while an input, by chance of the result's size, has a zero.
TEST(Divergence, AmongZerosIsNoDivisionByZero) {
  FakeTraining training(config("on_nonfinite: stop"));
  training.model().tail = [](const Variable& x) {
    const Variable zero(Tensor::full({}, 0, DType::kF32), false),
        huge(Tensor::full({2}, 1e30, DType::kF32), false);
    return record("conv2d", Tensor::full({}, std::numeric_limits<double>::infinity(), DType::kF32),
                  {x, zero, huge}, [](const Tensor& g) {
                    return Gradients{g, Tensor(), Tensor()};
                  });
  };
  const std::string log = log_of(training);
  EXPECT_TRUE(contains(log, "divergence: non-finite in fp32 too, at the model (op conv2d, ")) << log;
}

TEST(Divergence, IsCuredByTheRateThatTheLogNames) {
  const auto yaml = [](const std::string& more) {
    return "runner: {type: EpochBasedRunner, max_epochs: 30}\noptimizer: {type: SGD, lr: 8}\n" + more;
  };
  FakeTraining training(yaml("on_nonfinite: stop\n"), 40);
  const std::string log = log_of(training);
  ASSERT_TRUE(contains(log, "divergence: non-finite in fp32 too, at ")) << log;
  EXPECT_TRUE(contains(log, "; lr was 8; images: ")) << log;
  std::string next = yaml("on_nonfinite: stop\n"), words = log;
  int64_t reached = training.runner().iter();
  for (int i = 0; i < 4 && reached < 120; ++i) {  // the user follows the advice until the run holds
    next = cured(next, words);
    FakeTraining mended(next, 40);
    words = log_of(mended);
    reached = mended.runner().iter();
  }
  EXPECT_EQ(reached, 120) << words;
}

TEST(LostWeights, NamesTheStepThatLostThem) {
  FakeTraining training(config("on_nonfinite: stop"));
  training.probe().at_after_train_iter = [](Runner& r) {
    if (r.iter() == 4) r.weights().find("head.bias")->value.fill(std::numeric_limits<double>::infinity());
  };
  const std::string log = log_of(training);
  EXPECT_TRUE(contains(log, "training stops at iteration 6")) << log;
  EXPECT_TRUE(contains(log, "weights already non-finite: head.bias since the step of iteration 5")) << log;
}

TEST(LostWeights, TellsAnEpsilonThatIsNone) {
  const std::string yaml = config("on_nonfinite: stop", "{type: AdamW, lr: 0.001, eps: 1.e-60}");
  FakeTraining training(yaml);
  training.source().edit = [](Batch& batch) { batch.img.fill(0); };  // gradients of exactly 0
  const std::string log = log_of(training);
  ASSERT_TRUE(contains(log, "optimizer epsilon lost: eps is 0 in fp32")) << log;
  FakeTraining mended(cured(yaml, log));
  mended.source().edit = training.source().edit;
  mended.run();
  EXPECT_EQ(mended.runner().skips().total(), 0);
}

// STORY 7: 1e-8 is 0 in half, and 0 / 0 is NaN. The masters are stepped in f32: it cannot be lost.
TEST(Epsilon, OfAdamWIsNotLostInHalf) {
  FakeTraining training(config("fp16: {loss_scale: 512.}", "{type: AdamW, lr: 0.001, eps: 1.e-8}"));
  training.source().edit = [](Batch& batch) { batch.img.fill(0); };
  training.run();
  EXPECT_EQ(training.runner().skips().total(), 0);
  EXPECT_EQ(first_nonfinite(testing::everything(training.runner())), "");
}

// --- Bad input.

Variable infinite(const Variable& x) {
  return record("infinite", Tensor::full({}, std::numeric_limits<double>::infinity(), DType::kF32), {x},
                [](const Tensor& g) { return Gradients{g}; });
}

std::string log_with_target(const std::function<void(Batch&)>& edit) {
  FakeTraining training(config("on_nonfinite: stop"));
  training.model().tail = infinite;
  training.source().edit = edit;
  return log_of(training);
}

TEST(BadTargets, NamesTheBoxAndTheLabel) {
  const std::string box = log_with_target([](Batch& batch) {
    batch.gt_bboxes = {Tensor::from<float>({1, 2, 3, 4}, {1, 4}),
                       Tensor::from<float>({1, 2, 3, 4, 10, 20, 10, 40}, {2, 4})};
  });
  EXPECT_TRUE(contains(box, "bad input: file second.jpg: box 1 (10, 20, 10, 40) has no extent")) << box;
  const std::string label = log_with_target([](Batch& batch) {
    batch.gt_labels = {Tensor::from<int64_t>({0, 80}, {2}), Tensor::from<int64_t>({}, {0})};
  });
  EXPECT_TRUE(
      contains(label, "bad input: file first.jpg: label 80 of box 1 is none of the model's 80 classes"))
      << label;
}

// --- Explosion.

TEST(Explosion, IsFiniteAndFarBeyondTheMedian) {
  FakeTraining training(config("", "{type: SGD, lr: 1.e-20}"));
  int64_t calls = 0;
  training.source().edit = [&](Batch& batch) {
    if (++calls == 7) scale_pixels(batch, 1e3F);
  };
  StateDict buffers;
  training.probe().at_after_train_iter = [&](Runner& r) {
    if (r.iter() == 6) buffers = r.model().state_dict();
  };
  const std::string log = log_of(training);
  EXPECT_TRUE(contains(log, "iteration 7: loss exploded to ")) << log;
  EXPECT_TRUE(contains(log, "times its running median ")) << log;
  EXPECT_TRUE(contains(log, "; largest activation: ")) << log;
  EXPECT_TRUE(contains(log, "; images: first.jpg, second.jpg. Cure: optimizer_config.grad_clip.max_norm=35"))
      << log;
  EXPECT_FALSE(contains(log, "iteration 8: loss exploded")) << log;
  EXPECT_EQ(training.runner().skips().total(), 0);
  // The look at the activations left the iteration's own statistics alone.
  EXPECT_NE(buffers.find("bn.running_mean")->item(), 0);
  FakeTraining mended(cured(config("", "{type: SGD, lr: 1.e-20}"), log));
  mended.run();
  EXPECT_EQ(mended.runner().iter(), 8);
}

// --- What is kept.

TEST(Dumps, AreBoundedAndTheLastOneIsKept) {
  const std::string nan = "fp16: {loss_scale: 2, max_consecutive_skips: 7}\n";
  const auto spoil = [](Batch& batch) {
    batch.img.mutable_data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  };
  FakeTraining usual(config(nan));
  usual.source().edit = spoil;
  log_of(usual);
  EXPECT_EQ(kept_in(usual.work_dir()), (std::vector<std::string>{"iter_1", "iter_2", "iter_3", "iter_7"}));
  FakeTraining off(config(nan + "debug: {max_dumps: 0}"));
  off.source().edit = spoil;
  log_of(off);
  EXPECT_TRUE(kept_in(off.work_dir()).empty());
}

TEST(Dumps, AFolderThatCannotBeWrittenCostsOneLine) {
  FakeTraining training(config("debug: {inject: [{at: head.weight, iter: 2}]}"));
  std::ofstream(training.work_dir() + "/numerics") << "in the way";
  const std::string log = log_of(training);
  EXPECT_TRUE(contains(log, "iteration 3 is not kept: ")) << log;
  EXPECT_EQ(training.runner().iter(), 8);
}

TEST(Dumps, TooLargeOnesAreNotWritten) {
  FakeTraining training(config("debug: {max_dump_mb: 1, inject: [{at: head.weight, iter: 0}]}"));
  training.source().edit = [](Batch& batch) {
    batch.gt_semantic_seg = Tensor::zeros({2, 1024, 1024}, DType::kU8);
  };
  const std::string log = log_of(training);
  EXPECT_TRUE(contains(log, "iteration 1 is not kept: it has 2 MB, debug.max_dump_mb allows 1")) << log;
  EXPECT_TRUE(kept_in(training.work_dir()).empty());
}

TEST(Dumps, HoldTheBatchBitByBit) {
  FakeTraining training(config("debug: {inject: [{at: head.weight, iter: 1}]}"));
  Batch spoilt;
  training.source().edit = [&](Batch& batch) {
    batch.rng_seed = 0xFEDCBA9876543210;
    batch.img_metas[1].scale_factor = {0.1F, 0.3F, 0.1F, 0.3F};
    batch.img_metas[1].image_id = 42;
    batch.gt_bboxes = {Tensor::from<float>({1, 2, 3, 4}, {1, 4}), Tensor(Shape{0, 4}, DType::kF32)};
    batch.gt_labels = {Tensor::from<int64_t>({2}, {1}), Tensor::from<int64_t>({}, {0})};
    batch.gt_bboxes_ignore = {Tensor(Shape{0, 4}, DType::kF32), Tensor::from<float>({0, 0, 1, 1}, {1, 4})};
    const uint8_t bitmap[] = {0, 1, 1, 0};
    batch.gt_masks = {{from_polygons({{0.25, 0, 2, 0.5, 1, 1}, {0, 0, 1, 0, 1, 1}}, 2, 2)},
                      {from_bitmap(bitmap, 2, 2), from_rle(Rle{2, 2, {}})}};
    batch.gt_semantic_seg = Tensor::from<uint8_t>({1, 255}, {2, 1, 1});
    spoilt = batch;
    spoilt.img = batch.img.clone();
  };
  log_of(training);
  const Batch read = read_iteration_dump(training.work_dir() + "/numerics/iter_2").batch;
  EXPECT_EQ(read.rng_seed, spoilt.rng_seed);
  EXPECT_EQ(read.img_metas[1].scale_factor, spoilt.img_metas[1].scale_factor);
  EXPECT_EQ(read.img_metas[1].image_id, 42);
  EXPECT_EQ(read.img_metas[0].filename, "first.jpg");
  ASSERT_EQ(read.gt_bboxes.size(), 2u);
  EXPECT_TRUE(bitwise_equal(read.gt_bboxes[0], spoilt.gt_bboxes[0]));
  EXPECT_EQ(read.gt_bboxes[1].shape(), (Shape{0, 4}));
  EXPECT_TRUE(bitwise_equal(read.gt_labels[0], spoilt.gt_labels[0]));
  EXPECT_TRUE(bitwise_equal(read.gt_bboxes_ignore[1], spoilt.gt_bboxes_ignore[1]));
  EXPECT_TRUE(bitwise_equal(read.gt_semantic_seg, spoilt.gt_semantic_seg));
  ASSERT_EQ(read.gt_masks.size(), 2u);
  EXPECT_EQ(read.gt_masks[0][0].polygons, spoilt.gt_masks[0][0].polygons);
  EXPECT_EQ(read.gt_masks[0][0].h, 2);
  EXPECT_EQ(read.gt_masks[1][0].rle, spoilt.gt_masks[1][0].rle);
  EXPECT_EQ(read.gt_masks[1][1].rle, spoilt.gt_masks[1][1].rle);
}

class DamagedDump : public ::testing::Test {
 protected:
  DamagedDump() {
    FakeTraining training(config("debug: {inject: [{at: head.weight, iter: 0}]}"));
    log_of(training);
    folder_ = training.work_dir() + "/numerics/iter_1";
  }
  std::string error() const {
    try {
      read_iteration_dump(folder_);
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  }
  std::string folder_;
};

TEST_F(DamagedDump, IsOneLine) {
  EXPECT_EQ(error(), "no error");
  const std::string weights = folder_ + "/weights.safetensors";
  const auto size = fs::file_size(weights);
  fs::copy_file(weights, folder_ + "/whole");
  std::fstream(weights, std::ios::in | std::ios::out | std::ios::binary).seekp(size - 3).put('x');
  EXPECT_TRUE(contains(error(), "weights.safetensors: is damaged: its SHA-256 is not the one in")) << error();
  fs::resize_file(weights, size - 1);
  EXPECT_TRUE(contains(error(), "weights.safetensors: is damaged: ")) << error();
  fs::remove(weights);
  EXPECT_TRUE(contains(error(), "weights.safetensors: is missing; the folder is not a whole dump"))
      << error();
  fs::rename(folder_ + "/whole", weights);
  EXPECT_EQ(error(), "no error");
  std::ofstream(folder_ + "/iteration.json") << "{\"format\": 1}";
  EXPECT_TRUE(contains(error(), "iteration.json: is damaged: ")) << error();
  EXPECT_FALSE(contains(error(), "\n"));
  fs::remove(folder_ + "/iteration.json");
  EXPECT_TRUE(contains(error(), "is not the dump of an iteration: it has no iteration.json")) << error();
  folder_ += "0";
  EXPECT_TRUE(contains(error(), "no such folder; a run keeps failed iterations in")) << error();
}

}  // namespace
}  // namespace osprey
