// Counts the multiply-adds of a test forward pass and the parameters of a config's model: mmdetection's
// tools/analysis_tools/get_flops.py.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>

#include "core/base/logging.h"
#include "core/detection/detector.h"
#include "core/ops/flop_counter.h"
#include "tools/command_line.h"
#include "tools/detector_config.h"
#include "tools/plugins/plugins.h"

namespace osprey {
namespace {

// Height and width of "--shape 1280 800", or one number for both.
std::array<int64_t, 2> read_shape(const std::vector<int64_t>& shape) {
  if (shape.empty() || shape.size() > 2 || shape.front() < 1 || shape.back() < 1)
    throw UserError("--shape: give one number of pixels, or height and width");
  return {shape.front(), shape.back()};
}

Batch black_image(std::array<int64_t, 2> shape) {
  Batch batch;
  batch.img = Tensor::zeros({1, shape[0], shape[1], 3}, DType::kF32);
  batch.img_metas.resize(1);
  batch.img_metas[0].ori_shape = batch.img_metas[0].img_shape = batch.img_metas[0].pad_shape = shape;
  return batch;
}

std::string number(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

void run(const std::string& config, const std::vector<std::string>& overrides, std::array<int64_t, 2> shape) {
  const ConfigNode root = load_plugins(load_config(config, overrides));
  set_log_level("WARNING");
  const std::unique_ptr<Detector> model = build<Detector>(without_pretrained(detector_config(root)));
  require_all_read(root["model"]);
  model->assign_paths();
  model->init_weights(/*seed=*/0);
  model->train(false);
  int64_t params = 0;
  for (const auto& [name, parameter] : model->named_parameters())
    params += parameter->requires_grad() ? parameter->variable.numel() : 0;
  model->simple_test(black_image(shape), /*rescale=*/false);
  const std::string rule(30, '=');
  std::cout << rule << "\nInput shape: (3, " << shape[0] << ", " << shape[1]
            << ")\nFlops: " << number("%.2f", static_cast<double>(dense_flops()) / 2e9)
            << " GFLOPs\nParams: " << number("%.2f", static_cast<double>(params) / 1e6) << " M\n"
            << rule
            << "\nFlops are multiply-adds of convolutions and matrix products; those of RoI heads depend on "
               "how many "
            << "proposals the image gives. Params are the trainable ones, as mmcv counts them.\n";
}

}  // namespace
}  // namespace osprey

int main(int argc, char** argv) {
  CLI::App app("Counts the multiply-adds of a test forward pass, and the parameters, of a config's model.");
  std::string config;
  std::vector<std::string> overrides;
  std::vector<int64_t> shape = {1280, 800};
  app.add_option("config,--config", config, "YAML config file")->required();
  app.add_option("--shape", shape, "height and width in pixels (1280 800)")->expected(1, 2);
  app.add_option("--cfg-options", overrides, "KEY=VALUE ...: changes to the config");
  return osprey::run_tool(app, argc, argv,
                          [&] { osprey::run(config, overrides, osprey::read_shape(shape)); });
}
