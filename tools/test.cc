// Tests a trained detector: runs it over data.test, evaluates, writes and draws what it found.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <opencv2/imgcodecs.hpp>

#include "core/amp/precision_config.h"
#include "core/base/logging.h"
#include "core/config/config.h"
#include "core/data/data_loader.h"
#include "core/data/dataset.h"
#include "core/data/pipelines/image_io.h"
#include "core/data/sample.h"
#include "core/detection/detector.h"
#include "core/detection/num_classes.h"
#include "core/parallel/communicator.h"
#include "core/runner/checkpoint.h"
#include "core/runner/inference.h"
#include "core/runner/load_weights.h"
#include "hooks/eval_hook.h"
#include "models/pretrained.h"
#include "tools/command_line.h"
#include "tools/detector_config.h"
#include "tools/device_choice.h"
#include "tools/draw_detections.h"
#include "tools/evaluation_flags.h"
#include "tools/ranks.h"
#include "tools/results_file.h"

namespace osprey {
namespace {

namespace fs = std::filesystem;
using Results = std::vector<DetectionResult>;

struct Arguments {
  std::string config, checkpoint, out, show_dir, ignored;
  DeviceFlags device;
  EvaluationFlags evaluation;
  RankFlags ranks;
  bool format_only = false, show = false;
  double show_score_thr = 0.3;
};

void add_options(CLI::App& app, Arguments& args) {
  app.add_option("config,--config", args.config, "YAML config file")->required();
  app.add_option("checkpoint,--checkpoint", args.checkpoint,
                 ".safetensors or .pth file of weights, or its URL")
      ->required();
  app.add_option("--out", args.out, "write the results to this .json file");
  app.add_flag("--format-only", args.format_only, "write COCO json for a test server instead of evaluating");
  app.add_option("--show-dir", args.show_dir, "draw the detections into images in this folder");
  app.add_option("--show-score-thr", args.show_score_thr, "least score of a drawn detection")
      ->capture_default_str();
  add_evaluation_flags(app, args.evaluation);
  add_device_flags(app, args.device);
  app.add_flag("--show", args.show, "an error: no window is ever opened, --show-dir draws into files");
  app.add_flag("--gpu-collect")
      ->description("how mmdetection's ranks hand over results: by MPI here, the same with and without it");
  app.add_option("--tmpdir", args.ignored, "as --gpu-collect; nothing is written there");
  add_rank_flags(app, args.ranks);
}

void check(const Arguments& args) {
  if (args.show) throw UserError("--show: no window is ever opened; --show-dir DIR draws into files");
  if (args.out.empty() && args.evaluation.eval.empty() && !args.format_only && args.show_dir.empty()) {
    throw UserError("nothing to do: give at least one of --out, --eval, --format-only, --show-dir");
  }
  if (!args.evaluation.eval.empty() && args.format_only)
    throw UserError("--eval and --format-only exclude each other");
  if (!args.out.empty() && !ends_with(args.out, ".json")) {
    throw UserError(str_cat("--out ", args.out, ": results are written as JSON, the name must end in .json"));
  }
}

void warn_of_other_classes(const std::string& path, const Dataset& dataset) {
  const std::vector<std::string> classes = read_checkpoint_meta(path).classes;
  if (classes.empty() || classes == dataset.classes()) return;
  log_warning(str_cat(path, ": was trained on other classes than data.test has: ", join(classes), " against ",
                      join(dataset.classes())));
}

std::unique_ptr<Detector> load_detector(const ConfigNode& root, const Dataset& dataset,
                                        const std::string& path) {
  std::unique_ptr<Detector> model = build<Detector>(detector_config(root));
  model->assign_paths();
  check_num_classes(*model, static_cast<int64_t>(dataset.classes().size()), root);
  load_weights_to_test(*model, read_weights(path), path);
  warn_of_other_classes(path, dataset);
  const PrecisionConfig precision = PrecisionConfig::from(root);
  if (precision.mixed()) model->convert_precision(precision.dtype, precision.keep_fp32);
  return model;
}

// The image of the dataset as it was before the pipeline, and the name to write it under.
std::pair<cv::Mat, std::string> original_image(const Dataset& dataset, int64_t index) {
  CounterRng rng(0, 0, static_cast<uint64_t>(index));
  const std::vector<Sample> samples = dataset.get(index, rng);
  OSPREY_REQUIRE(!samples.empty(), "the test pipeline rejects image ", index);
  const SampleSource& source = *samples.front().source;
  const cv::Mat image =
      source.image.empty() ? read_image(source.filename, cv::IMREAD_COLOR) : source.image.clone();
  const fs::path name = fs::path(source.filename).filename();
  return {image, name.has_extension() ? name.string() : name.string() + ".png"};
}

void show(const Dataset& dataset, const Results& results, const std::string& folder, double score_thr) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw UserError(str_cat("--show-dir ", folder, ": ", error.message()));
  for (size_t i = 0; i < results.size(); ++i) {
    auto [image, name] = original_image(dataset, static_cast<int64_t>(i));
    draw_detections(image, results[i], dataset.classes(), score_thr);
    const std::string path = fs::path(folder) / name;
    if (!cv::imwrite(path, image)) throw UserError(str_cat(path, ": cannot write the image"));
  }
  log_info(str_cat("drew ", results.size(), " images into ", folder));
}

// What else the config holds belongs to training.
void require_test_keys_read(const ConfigNode& root) {
  for (const std::string& key : root.keys()) {
    if (key != "model" && key != "data") root.find(key).mark_read();
  }
  const ConfigNode data = root["data"];
  for (const std::string& key : data.keys()) {
    if (key != "test") data.find(key).mark_read();
  }
  const ConfigNode test = data["test"];
  if (test.is_map()) test.find("samples_per_gpu").mark_read();  // images go one by one
  require_all_read(root);
}

void run(const Arguments& args) {
  join_ranks(args.ranks, "tools/test");
  check(args);
  const ConfigNode root = load_config_to_evaluate(args.config, args.evaluation);
  set_log_level(root.get("log_level", "INFO"));
  const Device device = choose_device(args.device);
  const EvalOptions options = read_eval_options(root.find("evaluation"));
  const std::shared_ptr<const Dataset> dataset = build_test_dataset(root["data"]["test"]);
  if (!args.evaluation.eval.empty()) dataset->check_options(options);
  const std::unique_ptr<Detector> model = load_detector(root, *dataset, resolve_checkpoint(args.checkpoint));
  require_test_keys_read(root);
  model->to(device);
  InferenceOptions inference;
  inference.workers = read_loader_options(root["data"]).workers_per_gpu;
  const Results results = run_inference(*model, dataset, inference);
  if (!world().is_main()) return;
  if (!args.out.empty()) write_results(args.out, results);
  if (!args.show_dir.empty()) show(*dataset, results, args.show_dir, args.show_score_thr);
  if (args.format_only) {
    dataset->format_results(results, options.jsonfile_prefix.empty() ? "results" : options.jsonfile_prefix);
  }
  if (!args.evaluation.eval.empty()) print_report(dataset->evaluate(results, options));
}

}  // namespace
}  // namespace osprey

int main(int argc, char** argv) {
  CLI::App app("Tests a detector: at least one of --out, --eval, --format-only, --show-dir.");
  osprey::Arguments args;
  osprey::add_options(app, args);
  return osprey::run_tool(app, argc, argv, [&] { osprey::run(args); });
}
