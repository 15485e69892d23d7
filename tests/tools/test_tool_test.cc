// Runs tools/test as a user does, on a slim HTC with random weights and rendered images.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/base/strings.h"
#include "core/config/config.h"
#include "core/detection/detector.h"
#include "core/runner/checkpoint.h"
#include "tests/run_tool.h"
#include "tools/results_file.h"

namespace osprey {
namespace {

namespace fs = std::filesystem;

using testing::Outcome;

class TestToolTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    fs::create_directories(folder());
    std::ofstream(config()) << "_base_: "
                            << fs::absolute("configs/quickstart/htc_r18_fp16_shapes.yaml").string()
                            << "\nimg_scale: [64, 64]\n"
                               "fp16: {_delete_: true, loss_scale: 1.}\n"
                               "model:\n"
                               "  backbone: {base_channels: 8}\n"
                               "  neck: {in_channels: [8, 16, 32, 64]}\n"
                               "data: {workers_per_gpu: 1, test: {num_images: 3}}\n";
    std::unique_ptr<Detector> model = build<Detector>(load_config(config())["model"]);
    model->assign_paths();
    model->init_weights(1);
    Checkpoint written;
    written.weights = model->state_dict();
    written.meta.classes = {"cat", "dog", "bird"};
    write_checkpoint(checkpoint(), written);
  }

  static fs::path folder() { return fs::path(::testing::TempDir()) / "test_tool"; }
  static std::string config() { return folder() / "config.yaml"; }
  static std::string checkpoint() { return folder() / "weights.safetensors"; }
  static std::string valid() { return config() + " " + checkpoint() + " "; }

  static Outcome run(const std::string& arguments) { return testing::run_tool("test", arguments); }

  static void expect_user_error(const std::string& arguments, const std::string& message) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_NE(outcome.output.find(message), std::string::npos) << arguments << "\n" << outcome.output;
  }
};

TEST_F(TestToolTest, EvaluatesWritesAndDraws) {
  const std::string out = folder() / "results.json", drawn = folder() / "drawn";
  const Outcome outcome =
      run("--config " + config() + " --checkpoint " + checkpoint() + " --eval bbox segm --out " + out +
          " --show-dir " + drawn + " --show-score-thr 0 --eval-options classwise=true jsonfile_prefix=" +
          (folder() / "coco").string());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("Evaluating segm..."), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("| category"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("was trained on other classes"), std::string::npos) << outcome.output;
  const size_t json = outcome.output.find("{\"bbox_mAP\":");
  ASSERT_NE(json, std::string::npos) << outcome.output;
  const auto metrics = nlohmann::json::parse(outcome.output.substr(json));
  EXPECT_TRUE(metrics.contains("segm_mAP_copypaste"));
  const auto results = read_results(out);
  ASSERT_EQ(results.size(), 3u);
  EXPECT_TRUE(results[0].has_masks);
  EXPECT_EQ(std::distance(fs::directory_iterator(drawn), {}), 3);
  EXPECT_TRUE(fs::exists(folder() / "coco.bbox.json"));
  EXPECT_TRUE(fs::exists(folder() / "coco.segm.json"));
}

// The numbers of tools/test, from its results alone.
TEST_F(TestToolTest, EvalMetricReadsWhatWasWritten) {
  const std::string out = folder() / "kept.json";
  const auto metrics_in = [](const Outcome& outcome) {
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    return outcome.output.substr(outcome.output.find("{\"bbox_mAP\":"));
  };
  const std::string tested = metrics_in(run(valid() + "--eval bbox segm --out " + out));
  const auto eval_metric = [](const std::string& arguments) {
    return testing::run_tool("eval_metric", arguments);
  };
  EXPECT_EQ(metrics_in(eval_metric(config() + " " + out + " --eval bbox segm")), tested);
  EXPECT_EQ(eval_metric(config() + " " + out).output, "give exactly one of --eval and --format-only\n");
  const Outcome other =
      eval_metric(config() + " " + out + " --eval bbox --cfg-options data.test.num_images=2");
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_NE(other.output.find("holds the results of 3 images, data.test has 2"), std::string::npos)
      << other.output;
}

// By hand: of this model the stem alone, a 7x7 convolution of 3 to 8 channels at half the size.
TEST_F(TestToolTest, GetFlopsCountsMultiplyAdds) {
  const Outcome outcome = testing::run_tool("get_flops", config() + " --shape 64 128");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("Input shape: (3, 64, 128)\nFlops: "), std::string::npos) << outcome.output;
  const double flops = std::stod(outcome.output.substr(outcome.output.find("Flops: ") + 7));
  EXPECT_GT(flops, 7 * 7 * 3 * 8 * 32 * 64 / 1e9);
  std::unique_ptr<Detector> model = build<Detector>(load_config(config())["model"]);
  int64_t params = 0;
  for (const auto& [name, parameter] : model->named_parameters()) params += parameter->variable.numel();
  const double printed = std::stod(outcome.output.substr(outcome.output.find("Params: ") + 8));
  EXPECT_NEAR(printed, static_cast<double>(params) / 1e6, 0.006);
}

TEST_F(TestToolTest, FormatOnlyWritesCocoJson) {
  const std::string prefix = folder() / "server";
  const Outcome outcome = run(valid() + "--format-only --eval-options jsonfile_prefix=" + prefix);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  std::ifstream in(prefix + ".bbox.json");
  EXPECT_TRUE(nlohmann::json::parse(in).is_array());
}

TEST_F(TestToolTest, WrongFlagsAreOneLineAndExitCodeTwo) {
  expect_user_error(valid(), "give at least one of --out, --eval, --format-only, --show-dir");
  expect_user_error(valid() + "--show", "--show-dir DIR draws into files");
  expect_user_error(valid() + "--eval bbox --format-only", "--eval and --format-only exclude each other");
  expect_user_error(valid() + "--out results.pkl", "the name must end in .json");
  expect_user_error(valid() + "--eval bbox --eval-options claswise=true", "Did you mean 'classwise'?");
  expect_user_error(valid() + "--evil bbox", "--evil");
  expect_user_error(config() + " --eval bbox", "checkpoint");
  expect_user_error(valid() + "--eval bbox --device tpu", "allowed are cpu, cuda");
  expect_user_error(config() + " /no/such.safetensors --eval bbox", "/no/such.safetensors");
  expect_user_error("/no/such.yaml " + checkpoint() + " --eval bbox", "/no/such.yaml");
}

// Metrics of layers that no file has filled would look like results.
TEST_F(TestToolTest, AnotherModelsCheckpointIsRefused) {
  const StateDict weights = read_weights(checkpoint());
  Checkpoint headless, resized;
  for (const auto& [name, tensor] : weights.entries()) {
    if (starts_with(name, "backbone.")) headless.weights.put(name, tensor);
    resized.weights.put(name, tensor);
  }
  resized.weights.put("roi_head.bbox_head.0.fc_cls.bias", Tensor::zeros({81}, DType::kF32));
  const std::string path = folder() / "other.pth";
  write_checkpoint(path, headless);
  expect_user_error(config() + " " + path + " --eval bbox", "this is a checkpoint of another model");
  expect_user_error(config() + " " + path + " --eval bbox", "missing keys in source state_dict: ");
  write_checkpoint(path, resized);
  expect_user_error(config() + " " + path + " --eval bbox",
                    "size mismatch for roi_head.bbox_head.0.fc_cls.bias: shape (81) in the checkpoint");
}

TEST_F(TestToolTest, WrongConfigsAreOneLineAndExitCodeTwo) {
  const std::string eval = valid() + "--eval bbox --cfg-options ";
  expect_user_error(eval + "data.test.num_image=2", "data.test.num_image: unknown key of ShapesDataset");
  expect_user_error(eval + "model.roi_head.num_stage=2", "model.roi_head.num_stage: unknown key");
  expect_user_error(eval + "model.roi_head.bbox_head.0.num_classes=7",
                    "model.roi_head.bbox_head.0.num_classes is 7 (--cfg-options "
                    "model.roi_head.bbox_head.0.num_classes=7)");
  expect_user_error(valid() + "--show-dir /proc/no/such", "--show-dir /proc/no/such: ");
}

TEST_F(TestToolTest, OnlyTheChosenItemsAreReported) {
  const Outcome outcome =
      run(valid() + "--eval bbox --gpu-collect --tmpdir x --options metric_items=[mAP_50]");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("{\"bbox_mAP_50\":"), std::string::npos) << outcome.output;
}

TEST_F(TestToolTest, AWrongMetricIsFoundBeforeAnythingRuns) {
  expect_user_error(valid() + "--eval bbx", "Did you mean 'bbox'?");
}

}  // namespace
}  // namespace osprey
