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

void browse(const Dataset& dataset, const std::string& output_dir, int64_t count, uint64_t seed) {
  std::filesystem::create_directories(output_dir);
  count = count < 0 ? dataset.size() : std::min(count, dataset.size());
  for (int64_t i = 0; i < count; ++i) {
    CounterRng rng(seed, /*epoch=*/0, i);
    for (const Sample& sample : dataset.get(i, rng)) {
      const std::string path = file_name(output_dir, i, sample);
      if (!cv::imwrite(path, draw_sample(sample, dataset.classes())))
        throw UserError(path + ": cannot be written");
    }
  }
  std::cout << count << " of " << dataset.size() << " images written to " << output_dir << "\n";
}

}  // namespace
}  // namespace osprey

int main(int argc, char** argv) {
  CLI::App app("Writes augmented training images with their boxes and masks as PNGs.");
  std::string config, output_dir;
  std::vector<std::string> overrides, skip_type = {"DefaultFormatBundle", "Normalize", "Collect"};
  int64_t count = -1;
  uint64_t seed = 0;
  app.add_option("config,--config", config, "YAML config file")->required();
  app.add_option("--output-dir", output_dir, "folder for the PNGs")->required();
  app.add_option("--num", count, "write the first N images (default: all)");
  app.add_option("--seed", seed, "of the augmentation");
  app.add_option("--skip-type", skip_type, "transforms to leave out");
  app.add_option("--cfg-options", overrides, "KEY=VALUE ..., as for training");
  app.add_flag("--not-show")->description("accepted for mmdetection's sake: no window is ever shown");
  return osprey::run_tool(app, argc, argv, [&] {
    const osprey::ConfigNode root = osprey::load_plugins(osprey::load_config(config, overrides));
    const auto train = osprey::without_transforms(root["data"]["train"], skip_type);
    osprey::browse(*osprey::build_dataset(train), output_dir, count, seed);
  });
}
