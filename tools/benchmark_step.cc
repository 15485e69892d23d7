// Times training steps of a config's model on random images: forward, backward and the optimizer's step,
// nothing of data loading. Stands beside tools/compare/torchvision_step.py.
//
//   tools/benchmark_step --config configs/mask_rcnn_r50.yaml --size 320 --batch 2 --steps 8

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <optional>

#include "core/amp/master_weights.h"
#include "core/amp/precision_config.h"
#include "core/base/logging.h"
#include "core/base/parallel.h"
#include "core/base/rng.h"
#include "core/detection/detector.h"
#include "core/ops/conv2d.h"
#include "core/ops/flop_counter.h"
#include "core/optim/param_groups.h"
#include "tools/command_line.h"
#include "tools/detector_config.h"

namespace osprey {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Tensor uniform(Shape shape, double low, double high, CounterRng& rng) {
  Tensor tensor(std::move(shape), DType::kF32);
  float* values = tensor.mutable_data<float>();
  for (int64_t i = 0; i < tensor.numel(); ++i) values[i] = static_cast<float>(rng.uniform(low, high));
  return tensor;
}

// `batch` images of size x size with eight boxes each, rectangular masks and a semantic map at 1/8.
Batch random_batch(int64_t batch, int64_t size, int64_t classes) {
  constexpr int64_t kBoxes = 8;
  CounterRng rng(/*seed=*/0);
  Batch result;
  result.img = uniform({batch, size, size, 3}, -2, 2, rng);
  result.gt_semantic_seg = Tensor::full({batch, size / 8, size / 8}, 0, DType::kU8);
  const double extent = static_cast<double>(size);
  for (int64_t i = 0; i < batch; ++i) {
    ImgMeta meta;
    meta.filename = str_cat("random ", i);
    meta.ori_shape = meta.img_shape = meta.pad_shape = {size, size};
    result.img_metas.push_back(meta);
    Tensor boxes({kBoxes, 4}, DType::kF32), labels({kBoxes}, DType::kI64);
    InstanceMasks masks;
    for (int64_t k = 0; k < kBoxes; ++k) {
      float* box = boxes.mutable_data<float>() + 4 * k;
      for (int axis = 0; axis < 2; ++axis) {
        const double low = rng.uniform(0, 0.6 * extent);
        box[axis] = static_cast<float>(low);
        box[axis + 2] = static_cast<float>(std::min(extent, low + rng.uniform(0.1, 0.4) * extent));
      }
      labels.mutable_data<int64_t>()[k] = rng.randint(classes);
      InstanceMask mask;
      mask.h = mask.w = size;
      mask.polygons = {{box[0], box[1], box[2], box[1], box[2], box[3], box[0], box[3]}};
      masks.push_back(mask);
    }
    result.gt_bboxes.push_back(boxes);
    result.gt_labels.push_back(labels);
    result.gt_masks.push_back(std::move(masks));
  }
  return result;
}

// What one 3x3 convolution in the middle of a ResNet reaches here, in FLOP/s: the floor's yardstick.
double dense_rate(DType dtype) {
  CounterRng rng(/*seed=*/1);
  const Variable x(uniform({2, 40, 40, 256}, -1, 1, rng).to(dtype));
  const Variable weight(uniform({256, 3, 3, 256}, -1, 1, rng).to(dtype));
  std::vector<double> rates;
  for (int repeat = 0; repeat < 12; ++repeat) {
    const int64_t before = dense_flops();
    const Clock::time_point start = Clock::now();
    conv2d(x, weight, Variable(), Conv2dParams::square(1, 1));
    rates.push_back(static_cast<double>(dense_flops() - before) / seconds_since(start));
  }
  return median(rates);
}

// Wall time by op: what passed since the previous op finished belongs to the one that finishes now.
class OpProfile {
 public:
  OpProfile() : last_(Clock::now()) {
    set_op_observer([this](const OpEvent& event) {
      const Clock::time_point now = Clock::now();
      seconds_[str_cat(event.op, event.backward ? " backward" : "")] +=
          std::chrono::duration<double>(now - last_).count();
      last_ = now;
    });
  }
  ~OpProfile() { set_op_observer(nullptr); }
  OpProfile(const OpProfile&) = delete;
  OpProfile& operator=(const OpProfile&) = delete;

  // Leaves the time since the last op to nobody: what a step does around its ops is not an op's.
  void restart() {
    seconds_.clear();
    last_ = Clock::now();
  }
  void print(double step) const {
    std::vector<std::pair<std::string, double>> rows(seconds_.begin(), seconds_.end());
    std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    std::printf("%-32s %9s %7s\n", "op (last step)", "seconds", "share");
    for (const auto& [op, seconds] : rows) {
      std::printf("%-32s %9.4f %6.1f%%\n", op.c_str(), seconds, 100 * seconds / step);
    }
  }

 private:
  Clock::time_point last_;
  std::map<std::string, double> seconds_;
};

// The process's high-water mark of resident memory, MiB.
double peak_resident_mib() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word == "VmHWM:") {
      double kib = 0;
      status >> kib;
      return kib / 1024;
    }
  }
  return 0;
}

void run(const ConfigNode& cfg, int64_t size, int64_t batch_size, int steps, bool with_profile) {
  // Drawn weights take the same time as a checkpoint's.
  std::unique_ptr<Detector> model = build<Detector>(without_pretrained(detector_config(cfg)));
  model->assign_paths();
  model->init_weights(/*seed=*/0);
  model->train();
  MasterWeights masters(*model);
  const PrecisionConfig precision = PrecisionConfig::from(cfg);
  if (precision.mixed()) masters.convert_model(precision.dtype, precision.keep_fp32);
  const std::unique_ptr<Optimizer> optimizer = build<Optimizer>(cfg["optimizer"]);
  optimizer->set_groups(build_param_groups(cfg["optimizer"], *optimizer, masters.trainable()));
  for (ParamGroup& group : optimizer->groups()) group.lr = 1e-4;

  int64_t classes = 80;
  for (const auto& [head, count] : model->num_classes_by_head()) classes = std::min(classes, count);
  const Batch batch = random_batch(batch_size, size, classes);
  std::vector<double> forward, backward, update, total;
  int64_t flops = 0;
  std::optional<OpProfile> profile;
  if (with_profile) profile.emplace();
  for (int step = 0; step <= steps; ++step) {
    const int64_t flops_before = dense_flops();
    if (profile) profile->restart();
    const Clock::time_point start = Clock::now();
    const Variable loss = model->forward_train(batch).total();
    const double forward_done = seconds_since(start);
    loss.backward();
    const double backward_done = seconds_since(start);
    masters.take_grads(/*loss_scale=*/1);
    optimizer->step();
    masters.copy_to_model();
    masters.drop_grads();
    model->commit_buffers();
    const double done = seconds_since(start);
    std::printf("step %d: %.3f s (forward %.3f, backward %.3f, update %.3f), loss %.4f\n", step, done,
                forward_done, backward_done - forward_done, done - backward_done, loss.value().item());
    std::fflush(stdout);
    if (step == 0) continue;  // the first one allocates and prepares kernels
    forward.push_back(forward_done);
    backward.push_back(backward_done - forward_done);
    update.push_back(done - backward_done);
    total.push_back(done);
    flops = dense_flops() - flops_before;
  }
  if (profile) profile->print(total.back());
  profile.reset();
  const double rate = dense_rate(precision.dtype);
  const double step_time = median(total);
  std::printf(
      "osprey %s: median step %.3f s (forward %.3f, backward %.3f, update %.3f), peak memory %.0f MiB, %d "
      "threads\n",
      name_of(precision.dtype), step_time, median(forward), median(backward), median(update),
      peak_resident_mib(), num_threads());
  std::printf(
      "dense work %.1f GFLOP a step; at the %.0f GFLOP/s of one 3x3 convolution here that is %.3f s: %.0f %% "
      "of the step\n",
      static_cast<double>(flops) * 1e-9, rate * 1e-9, static_cast<double>(flops) / rate,
      100 * static_cast<double>(flops) / rate / step_time);
}

}  // namespace
}  // namespace osprey

int main(int argc, char** argv) {
  CLI::App app("Times training steps of a config's model on random images.");
  std::string config;
  std::vector<std::string> overrides;
  int64_t size = 320, batch = 2;
  int steps = 8;
  bool profile = false;
  app.add_option("--config,config", config, "config file")->required();
  app.add_option("--cfg-options", overrides, "key=value pairs over the config");
  app.add_option("--size", size, "side of the square images in pixels, a multiple of 32");
  app.add_option("--batch", batch, "images a step");
  app.add_option("--steps", steps, "timed steps, after one that is not");
  app.add_flag("--profile", profile, "print the last step's time by op");
  return osprey::run_tool(app, argc, argv, [&] {
    osprey::run(osprey::load_config(config, overrides), size, batch, steps, profile);
  });
}
