// Times training steps of a config's model on random images: forward, backward and the optimizer's step,
// nothing of data loading. Stands beside tools/compare/torchvision_step.py.
//
//   tools/benchmark_step --config configs/mask_rcnn_r50.yaml --size 320 --batch 2 --steps 8
//   tools/benchmark_step --config configs/htc_r50_fp16.yaml --size 800x1344 --device cuda

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <optional>

#include "core/amp/master_weights.h"
#include "core/amp/precision_config.h"
#include "core/backend/device_backend.h"
#include "core/base/logging.h"
#include "core/base/parallel.h"
#include "core/base/rng.h"
#include "core/detection/detector.h"
#include "core/ops/conv2d.h"
#include "core/ops/flop_counter.h"
#include "core/optim/param_groups.h"
#include "hooks/default_hooks.h"
#include "tools/command_line.h"
#include "tools/detector_config.h"
#include "tools/device_choice.h"

namespace osprey {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string config, size = "320";
  std::vector<std::string> overrides;
  int64_t batch = 2;
  int steps = 8;
  bool profile = false;
  DeviceFlags device;
};

// A moment of the step: of the device's work where that is not the host's own.
class Moment {
 public:
  explicit Moment(Device device) : host_(Clock::now()) {
    if (const DeviceBackend* backend = device_backend(device.type)) mark_ = backend->mark_time(device);
  }
  double seconds_since(const Moment& earlier) const {
    if (mark_) return mark_->seconds_since(*earlier.mark_);
    return std::chrono::duration<double>(host_ - earlier.host_).count();
  }

 private:
  Clock::time_point host_;
  std::unique_ptr<TimeMark> mark_;
};

void synchronize(Device device) {
  if (const DeviceBackend* backend = device_backend(device.type)) backend->synchronize(device);
}

// Height and width of "320" or "800x1344".
std::array<int64_t, 2> parse_size(const std::string& text) {
  const auto extent = [&](const std::string& digits) {
    const bool number =
        !digits.empty() && digits.size() < 6 && digits.find_first_not_of("0123456789") == std::string::npos;
    const int64_t value = number ? std::stoll(digits) : 0;
    if (value <= 0 || value % 32 != 0)
      throw UserError(str_cat("--size ", text, ": allowed are N and HxW in pixels, multiples of 32"));
    return value;
  };
  const size_t cross = text.find('x');
  if (cross == std::string::npos) return {extent(text), extent(text)};
  return {extent(text.substr(0, cross)), extent(text.substr(cross + 1))};
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

// `batch` images of h x w with eight boxes each, rectangular masks and a semantic map at 1/8.
Batch random_batch(int64_t batch, std::array<int64_t, 2> size, int64_t classes) {
  constexpr int64_t kBoxes = 8;
  CounterRng rng(/*seed=*/0);
  Batch result;
  const auto [h, w] = size;
  result.img = uniform({batch, h, w, 3}, -2, 2, rng);
  result.gt_semantic_seg = Tensor::full({batch, h / 8, w / 8}, 0, DType::kU8);
  for (int64_t i = 0; i < batch; ++i) {
    ImgMeta meta;
    meta.filename = str_cat("random ", i);
    meta.ori_shape = meta.img_shape = meta.pad_shape = size;
    result.img_metas.push_back(meta);
    Tensor boxes({kBoxes, 4}, DType::kF32), labels({kBoxes}, DType::kI64);
    InstanceMasks masks;
    for (int64_t k = 0; k < kBoxes; ++k) {
      float* box = boxes.mutable_data<float>() + 4 * k;
      for (int axis = 0; axis < 2; ++axis) {
        const double extent = static_cast<double>(axis == 0 ? w : h);
        const double low = rng.uniform(0, 0.6 * extent);
        box[axis] = static_cast<float>(low);
        box[axis + 2] = static_cast<float>(std::min(extent, low + rng.uniform(0.1, 0.4) * extent));
      }
      labels.mutable_data<int64_t>()[k] = rng.randint(classes);
      InstanceMask mask;
      mask.h = h;
      mask.w = w;
      mask.polygons = {{box[0], box[1], box[2], box[1], box[2], box[3], box[0], box[3]}};
      masks.push_back(mask);
    }
    result.gt_bboxes.push_back(boxes);
    result.gt_labels.push_back(labels);
    result.gt_masks.push_back(std::move(masks));
  }
  return result;
}

// What one 3x3 convolution in the middle of a ResNet for images of `size` reaches here, in FLOP/s: the
// floor's yardstick.
double dense_rate(DType dtype, std::array<int64_t, 2> size, Device device) {
  CounterRng rng(/*seed=*/1);
  const Variable x(uniform({2, size[0] / 8, size[1] / 8, 256}, -1, 1, rng).to(dtype).to(device));
  const Variable weight(uniform({256, 3, 3, 256}, -1, 1, rng).to(dtype).to(device));
  std::vector<double> rates;
  for (int repeat = 0; repeat < 12; ++repeat) {
    const int64_t before = dense_flops();
    const Moment start(device);
    conv2d(x, weight, Variable(), Conv2dParams::square(1, 1));
    rates.push_back(static_cast<double>(dense_flops() - before) / Moment(device).seconds_since(start));
  }
  return median(rates);
}

// Wall time by op: what passed since the previous op finished belongs to the one that finishes now. On a
// device the host waits for each op, which makes the step slower than it is without a profile.
class OpProfile {
 public:
  explicit OpProfile(Device device) : last_(Clock::now()) {
    set_op_observer([this, device](const OpEvent& event) {
      synchronize(device);
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

// The most that was held at once, MiB: on a device by tensors and workspaces, on the CPU by the process.
double peak_memory_mib(Device device) {
  const DeviceBackend* backend = device_backend(device.type);
  return backend ? static_cast<double>(backend->peak_bytes(device)) / (1 << 20) : peak_resident_mib();
}

// What is trained: the model of the config with drawn weights, which take the same time as a checkpoint's.
struct Trained {
  std::unique_ptr<Detector> model;
  std::unique_ptr<MasterWeights> masters;
  std::unique_ptr<Optimizer> optimizer;

  Trained(const ConfigNode& cfg, const PrecisionConfig& precision, Device device)
      : model(build<Detector>(without_pretrained(detector_config(cfg)))) {
    model->assign_paths();
    model->init_weights(/*seed=*/0);
    model->to(device);
    model->train();
    masters = std::make_unique<MasterWeights>(*model);
    if (precision.mixed()) masters->convert_model(precision.dtype, precision.keep_fp32);
    optimizer = build<Optimizer>(cfg["optimizer"]);
    optimizer->set_groups(build_param_groups(cfg["optimizer"], *optimizer, masters->trainable()));
    for (ParamGroup& group : optimizer->groups()) group.lr = 1e-4;
  }

  void update() {
    masters->take_grads(/*loss_scale=*/1);
    optimizer->step();
    masters->copy_to_model();
    masters->drop_grads();
    model->commit_buffers();
  }
};

// A key that nobody reads ends a benchmark as it ends a training. The step hook is built for its reading
// alone.
void require_known_keys(const ConfigNode& cfg) {
  build<Hook>(optimizer_hook_config(cfg));
  for (const char* part : {"model", "optimizer", "optimizer_config", "fp16", "bf16"}) {
    if (!cfg.find(part).is_null()) require_all_read(cfg[part]);
  }
}

// Seconds of each timed step.
struct Times {
  std::vector<double> forward, backward, update, total;
};

void run(const Options& options) {
  const ConfigNode cfg = load_config(options.config, options.overrides);
  const std::array<int64_t, 2> size = parse_size(options.size);
  const Device device = choose_device(options.device);
  const PrecisionConfig precision = PrecisionConfig::from(cfg);
  Trained trained(cfg, precision, device);
  require_known_keys(cfg);
  int64_t classes = 80;
  for (const auto& [head, count] : trained.model->num_classes_by_head()) classes = std::min(classes, count);
  Batch batch = random_batch(options.batch, size, classes);
  batch.img = batch.img.to(device);
  Times times;
  int64_t flops = 0;
  std::optional<OpProfile> profile;
  if (options.profile) profile.emplace(device);
  for (int step = 0; step <= options.steps; ++step) {
    synchronize(device);
    const int64_t flops_before = dense_flops();
    if (profile) profile->restart();
    const Moment start(device);
    const Variable loss = trained.model->forward_train(batch).total();
    const Moment forward_done(device);
    loss.backward();
    const Moment backward_done(device);
    trained.update();
    const Moment done(device);
    const double forward = forward_done.seconds_since(start),
                 backward = backward_done.seconds_since(forward_done);
    const double update = done.seconds_since(backward_done), total = done.seconds_since(start);
    const double value = loss.value().item();
    std::printf("step %d: %.4f s (forward %.4f, backward %.4f, update %.4f), loss %.4f\n", step, total,
                forward, backward, update, value);
    std::fflush(stdout);
    if (!std::isfinite(value)) throw Error(str_cat("step ", step, ": the loss is ", value));
    if (step == 0) continue;  // the first one allocates and prepares kernels
    times.forward.push_back(forward);
    times.backward.push_back(backward);
    times.update.push_back(update);
    times.total.push_back(total);
    flops = dense_flops() - flops_before;
  }
  const double peak = peak_memory_mib(device);
  if (profile) profile->print(times.total.back());
  profile.reset();
  const double rate = dense_rate(precision.dtype, size, device);
  const double step_time = median(times.total);
  std::printf(
      "osprey %s on %s: median step %.4f s (forward %.4f, backward %.4f, update %.4f), peak memory %.0f MiB, "
      "%d "
      "threads\n",
      name_of(precision.dtype), str_cat(device).c_str(), step_time, median(times.forward),
      median(times.backward), median(times.update), peak, num_threads());
  std::printf(
      "dense work %.1f GFLOP a step; at the %.0f GFLOP/s of one 3x3 convolution here that is %.4f s: %.0f %% "
      "of the step\n",
      static_cast<double>(flops) * 1e-9, rate * 1e-9, static_cast<double>(flops) / rate,
      100 * static_cast<double>(flops) / rate / step_time);
}

}  // namespace
}  // namespace osprey

int main(int argc, char** argv) {
  CLI::App app("Times training steps of a config's model on random images.");
  osprey::Options options;
  app.add_option("--config,config", options.config, "config file")->required();
  app.add_option("--cfg-options", options.overrides, "key=value pairs over the config");
  app.add_option("--size", options.size, "N or HxW: extents of the images in pixels, multiples of 32");
  app.add_option("--batch", options.batch, "images a step")->check(CLI::PositiveNumber);
  app.add_option("--steps", options.steps, "timed steps, after one that is not")->check(CLI::PositiveNumber);
  app.add_flag("--profile", options.profile, "print the last step's time by op");
  osprey::add_device_flags(app, options.device);
  return osprey::run_tool(app, argc, argv, [&] { osprey::run(options); });
}
