// Writes training images as the pipeline makes them, with their ground truth drawn in (mmdetection's
// tools/misc/browse_dataset.py).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <opencv2/imgcodecs.hpp>

#include "core/base/error.h"
#include "core/config/config.h"
#include "core/data/dataset.h"
#include "core/data/draw_sample.h"
#include "core/data/sample.h"
#include "core/runner/progress_bar.h"
#include "tools/command_line.h"
#include "tools/plugins/plugins.h"

namespace osprey {
namespace {

std::string indented(const std::string& yaml) {
  std::string out;
  for (const std::string& line : split(yaml, '\n')) {
    if (!line.empty()) out += (out.empty() ? "- " : "  ") + line + "\n";
  }
  return out;
}

// The dataset's config without the transforms of these types, in wrapped datasets too.
ConfigNode without_transforms(const ConfigNode& cfg, const std::vector<std::string>& types) {
  if (cfg.has("dataset")) return cfg.with("dataset", without_transforms(cfg["dataset"], types));
  if (!cfg.has("pipeline")) return cfg;
  std::string kept = "pipeline:\n";
  for (const ConfigNode& item : cfg["pipeline"].items()) {
    if (std::find(types.begin(), types.end(), item.get("type", "")) == types.end())
      kept += indented(item.to_yaml());
  }
  return cfg.with("pipeline", parse_config(kept, "pipeline without --skip-type")["pipeline"]);
}

std::string file_name(const std::string& output_dir, int64_t index, const Sample& sample) {
  const std::string stem = std::filesystem::path(sample.meta.filename).stem().string();
  return (std::filesystem::path(output_dir) / str_cat(index, "_", stem, ".png")).string();
}

struct Browse {
  std::string output_dir;
  int64_t count = 20;
  bool all = false;
  int64_t seed = 0;
};

void make_output_dir(const std::string& output_dir) {
  std::error_code error;
  std::filesystem::create_directories(output_dir, error);
  if (error) throw UserError("--output-dir " + output_dir + ": " + error.message());
}

// Writes what the pipeline makes of image `index`; returns the number of files, 0 when it rejects the image.
int64_t write_samples(const Dataset& dataset, const Browse& browse, int64_t index) {
  CounterRng rng(static_cast<uint64_t>(browse.seed), /*epoch=*/0, static_cast<uint64_t>(index));
  int64_t written = 0;
  for (const Sample& sample : dataset.get(index, rng)) {
    const std::string path = file_name(browse.output_dir, index, sample);
    if (!cv::imwrite(path, draw_sample(enlarged_for_drawing(sample), dataset.classes())))
      throw UserError(path + ": cannot be written");
    ++written;
  }
  return written;
}

void run(const Dataset& dataset, const Browse& browse) {
  make_output_dir(browse.output_dir);
  const int64_t count = browse.all ? dataset.size() : std::min(browse.count, dataset.size());
  int64_t written = 0;
  ProgressBar progress(count);
  for (int64_t i = 0; i < count; ++i) {
    written += write_samples(dataset, browse, i);
    progress.update(i + 1);
  }
  std::cout << written << " images written to "
            << std::filesystem::absolute(browse.output_dir).lexically_normal().string()
            << (count < dataset.size()
                    ? str_cat(" (the first ", count, " of ", dataset.size(), "; --num N or --all for more)")
                    : "")
            << "\n";
}

}  // namespace
}  // namespace osprey

int main(int argc, char** argv) {
  CLI::App app("Writes augmented training images with their boxes and masks as PNGs.");
  std::string config;
  osprey::Browse browse;
  std::vector<std::string> overrides, skip_type = {"DefaultFormatBundle", "Normalize", "Collect"};
  app.add_option("config,--config", config, "YAML config file")->required();
  app.add_option("--output-dir", browse.output_dir, "folder for the PNGs")->required();
  auto* num = app.add_option("--num", browse.count, "write the first N images")
                  ->check(CLI::PositiveNumber)
                  ->capture_default_str();
  app.add_flag("--all", browse.all, "write every image")->excludes(num);
  app.add_option("--seed", browse.seed, "of the augmentation")->check(CLI::NonNegativeNumber);
  app.add_option("--skip-type", skip_type, "transforms to leave out");
  app.add_option("--cfg-options", overrides, "KEY=VALUE ..., as for training");
  app.add_flag("--not-show")->description("accepted for mmdetection's sake: no window is ever shown");
  return osprey::run_tool(app, argc, argv, [&] {
    const osprey::ConfigNode root = osprey::load_plugins(osprey::load_config(config, overrides));
    const auto train = osprey::without_transforms(root["data"]["train"], skip_type);
    osprey::run(*osprey::build_dataset(train), browse);
  });
}
