#include "tests/configs/small_run.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tools/training.h"

namespace osprey {
namespace {

namespace fs = std::filesystem;

// Integer keys, wherever they stand: divided by `divisor`, but not below `least`.
struct Reduction {
  int64_t divisor, least;
};
const std::map<std::string, Reduction> kModelKeys = {
    {"in_channels", {8, 1}},     {"out_channels", {8, 1}},
    {"feat_channels", {8, 1}},   {"conv_out_channels", {8, 1}},
    {"fc_out_channels", {8, 1}}, {"aspp_out_channels", {8, 1}},
    {"rfp_inplanes", {8, 1}},    {"num", {16, 1}},
    {"nms_pre", {8, 1}},         {"max_per_img", {8, 1}},
};
const std::map<std::string, Reduction> kDataKeys = {{"img_scale", {8, 64}}};

std::string reduced(const ConfigNode& node, const Reduction& by) {
  if (!node.is_list()) return std::to_string(std::max(node.as<int64_t>() / by.divisor, by.least));
  std::vector<std::string> items;
  for (const ConfigNode& item : node.items()) items.push_back(reduced(item, by));
  return "[" + join(items, ",") + "]";
}

// Adds an override for each of `keys` below `node`; `path` is dotted, with numbers for elements of lists.
void reduce(const ConfigNode& node, const std::string& path, const std::map<std::string, Reduction>& keys,
            std::vector<std::string>& overrides) {
  const std::vector<std::string> names = node.is_map() ? node.keys() : std::vector<std::string>{};
  const bool backbone = node.is_map() && node.has("depth");
  if (backbone) {
    overrides.push_back(str_cat(path, ".base_channels=", node.get("base_channels", int64_t{64}) / 8));
  }
  for (const std::string& key : names) {
    const ConfigNode child = node[key];
    const std::string child_path = path + "." + key;
    const auto found = keys.find(key);
    if (child.is_null() || (backbone && (key == "in_channels" || key == "base_channels"))) continue;
    if (key == "pretrained") {
      overrides.push_back(child_path + "=null");
    } else if (found != keys.end()) {
      overrides.push_back(child_path + "=" + reduced(child, found->second));
    } else {
      reduce(child, child_path, keys, overrides);
    }
  }
  for (size_t i = 0; node.is_list() && i < node.size(); ++i) {
    reduce(node.at(i), str_cat(path, ".", i), keys, overrides);
  }
}

// Two images of the data set that may stand inside others, once.
void shorten(const ConfigNode& dataset, const std::string& path, std::vector<std::string>& overrides) {
  if (!dataset.has("dataset")) return overrides.push_back(path + ".num_images=2");
  if (dataset.has("times")) overrides.push_back(path + ".times=1");
  shorten(dataset["dataset"], path + ".dataset", overrides);
}

// The names that the heads of this model log, by their config's shape.
std::vector<std::string> promised_losses(const ConfigNode& model) {
  if (!model.has("roi_head")) return {"loss_cls", "loss_bbox"};
  std::vector<std::string> names = {"loss_rpn_cls", "loss_rpn_bbox"};
  const ConfigNode roi_head = model["roi_head"];
  const ConfigNode boxes = roi_head["bbox_head"];
  const bool masks = !roi_head.find("mask_head").is_null();
  for (size_t stage = 0; stage < (boxes.is_list() ? boxes.size() : 1); ++stage) {
    const std::string prefix = boxes.is_list() ? str_cat("s", stage, ".") : "";
    for (const char* loss : {"loss_cls", "acc", "loss_bbox"}) names.push_back(prefix + loss);
    if (masks) names.push_back(prefix + "loss_mask");
  }
  if (!roi_head.find("semantic_head").is_null()) names.emplace_back("loss_semantic_seg");
  return names;
}

// A folder that goes with the scope.
struct WorkDir {
  WorkDir() {
    std::string pattern = ::testing::TempDir() + "/step_XXXXXX";
    path = ::mkdtemp(pattern.data());
  }
  ~WorkDir() { fs::remove_all(path); }
  WorkDir(const WorkDir&) = delete;
  WorkDir& operator=(const WorkDir&) = delete;
  std::string path;
};

// The one line of training in the JSON log.
nlohmann::json training_line(const std::string& work_dir) {
  for (const auto& entry : fs::directory_iterator(work_dir)) {
    if (!entry.path().string().ends_with(".log.json")) continue;
    std::ifstream in(entry.path());
    for (std::string text; std::getline(in, text);) {
      const auto line = nlohmann::json::parse(text);
      if (line.value("mode", "") == "train") return line;
    }
  }
  return {};
}

}  // namespace

std::vector<std::string> small_run(const std::string& config, const std::vector<std::string>& data) {
  const ConfigNode cfg = load_config(config, data);
  std::vector<std::string> overrides = data;
  reduce(cfg["model"], "model", kModelKeys, overrides);
  reduce(cfg["data"]["train"], "data.train", kDataKeys, overrides);
  shorten(cfg["data"]["train"], "data.train", overrides);
  for (const char* once : {"data.samples_per_gpu=2", "data.workers_per_gpu=0", "runner.max_epochs=1",
                           "checkpoint_config=null", "log_config.interval=1", "log_level=ERROR", "seed=1"}) {
    overrides.emplace_back(once);
  }
  return overrides;
}

std::vector<std::string> rendered_data(const std::string& config) {
  const ConfigNode cfg = load_config(config);
  if (!cfg.has("data_root")) return {};  // rendered already
  std::vector<std::string> overrides = {
      "data.train={_delete_: true, type: ShapesDataset, num_images: 2, img_scale: [1024, 768], "
      "pipeline: '${train_pipeline}'}"};
  // Three shapes, and four kinds of background for the semantic branch.
  const ConfigNode model = cfg["model"];
  const auto fit = [&](const ConfigNode& heads, const std::string& path, const char* classes) {
    if (heads.is_null()) return;
    overrides.push_back(path + (heads.is_list() ? "={_each_: {num_classes: " : "={num_classes: ") + classes +
                        (heads.is_list() ? "}}" : "}"));
  };
  fit(model.find("bbox_head"), "model.bbox_head", "3");
  for (const char* head : {"bbox_head", "mask_head"})
    fit(model.find("roi_head").find(head), str_cat("model.roi_head.", head), "3");
  fit(model.find("roi_head").find("semantic_head"), "model.roi_head.semantic_head", "7");
  return overrides;
}

void expect_training_step(const std::string& config, const std::vector<std::string>& data) {
  const WorkDir work_dir;
  TrainOptions options;
  options.config = config;
  options.work_dir = work_dir.path;
  options.cfg_options = small_run(config, data);
  options.device = "cpu";
  options.no_validate = true;
  Training(options).run();
  const nlohmann::json line = training_line(work_dir.path);
  std::vector<std::string> names = promised_losses(load_config(config)["model"]);
  names.insert(names.end(), {"loss", "grad_norm"});
  for (const std::string& name : names) {
    ASSERT_TRUE(line.contains(name)) << name << " is not in " << line;
    ASSERT_TRUE(line[name].is_number()) << name << ": " << line[name];  // the log writes others as null
    EXPECT_TRUE(std::isfinite(line[name].get<double>())) << name;
  }
  EXPECT_GT(line["loss"].get<double>(), 0);
}

}  // namespace osprey
