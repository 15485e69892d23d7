#include "core/runner/replay.h"

#include <algorithm>
#include <cmath>

#include "core/autograd/op_inputs.h"

namespace osprey {
namespace {

constexpr size_t kLaterModules = 16;

// Installs an observer on this thread for the time of a replay.
class ScopedObserver {
 public:
  explicit ScopedObserver(OpObserver observer) { set_op_observer(std::move(observer)); }
  ~ScopedObserver() { set_op_observer(nullptr); }
  ScopedObserver(const ScopedObserver&) = delete;
  ScopedObserver& operator=(const ScopedObserver&) = delete;
};

bool inside(const std::string& name, const std::string& module) {
  return module.empty() || name == module || starts_with(name, module + ".");
}

bool inside_any(const std::string& name, const std::vector<std::string>& modules) {
  return std::any_of(modules.begin(), modules.end(),
                     [&](const std::string& module) { return inside(name, module); });
}

int64_t first_nonfinite_index(const Tensor& value) {
  const Tensor host = value.to(DType::kF32).to(kCPU);
  const float* x = host.data<float>();
  for (int64_t i = 0; i < host.numel(); ++i) {
    if (!std::isfinite(x[i])) return i;
  }
  return -1;
}

BadOp explain(const OpRecord& record, const Tensor& value) {
  BadOp bad{record, {}, std::nullopt, {}};
  bad.record.inputs.clear();
  const int64_t index = first_nonfinite_index(value);
  for (const Tensor& input : record.inputs) {
    if (!is_floating(input.dtype())) continue;
    bad.inputs.push_back(measure_magnitudes(input));
    if (input.numel() != value.numel() || index < 0) continue;
    const double element = input.item_at(index);
    if (std::isfinite(element) && (!bad.blamed_input || element == 0)) bad.blamed_input = element;
  }
  return bad;
}

// One replay, op by op.
class Watch {
 public:
  Watch(const Scene& scene, const ReplayOptions& options, Replay& result)
      : scene_(scene), options_(options), result_(result) {}

  void on_op(const OpEvent& event) {
    scene_.fire_drill.on_op(event);
    if (!is_floating(event.value.dtype())) return;
    note({event.op, event.module_path, event.backward, event.value.dtype(), measure_magnitudes(event.value),
          observed_inputs()},
         event.value);
  }

  void on_parameters() {
    for (const auto& [name, parameter] : scene_.model.named_parameters()) {
      const Tensor& grad = parameter->variable.grad();
      if (!grad.defined()) continue;
      const Magnitudes seen = measure_magnitudes(grad);
      if (!seen.finite()) result_.bad_parameters.push_back(name);
      if (options_.each) options_.each({"gradient", name, true, grad.dtype(), seen, {}});
    }
  }

 private:
  void note(const OpRecord& record, const Tensor& value) {
    if (record.backward && is_half(record.dtype))
      result_.largest_half_gradient = std::max(result_.largest_half_gradient, record.seen.largest);
    if (result_.first_bad) {
      note_later(record.module_path);
    } else if (!record.finite()) {
      result_.first_bad = explain(record, value);
    }
    if (options_.each) options_.each(record);
  }

  void note_later(const std::string& module) {
    std::vector<std::string>& later = result_.first_bad->later_modules;
    if (later.size() < kLaterModules && std::find(later.begin(), later.end(), module) == later.end())
      later.push_back(module);
  }

  const Scene& scene_;
  const ReplayOptions& options_;
  Replay& result_;
};

void take_losses(const LossDict& losses, Replay& result) {
  for (const auto& [name, value] : losses.entries()) {
    result.losses.emplace_back(name, value.value().item());
    if (name.find("loss") != std::string::npos && !std::isfinite(result.losses.back().second))
      result.bad_losses.push_back(name);
  }
  result.losses.emplace_back("loss", losses.total().value().item());
  if (result.bad_losses.empty() && !std::isfinite(result.losses.back().second))
    result.bad_losses.push_back("loss");
}

void run_iteration(const Scene& scene, const ReplayOptions& options, Watch& watch, Replay& result) {
  const ScopedObserver observer([&](const OpEvent& event) { watch.on_op(event); });
  std::optional<NoGradGuard> no_tape;
  if (!options.backward) no_tape.emplace();
  const LossDict losses = scene.model.forward_train(scene.batch);
  const Variable total = losses.total();
  take_losses(losses, result);
  if (!result.bad_losses.empty() || !options.backward) return;
  total.backward(options.loss_scale / scene.loss_factor);
  scene.fire_drill.poison_gradients(scene.model);
  watch.on_parameters();
}

}  // namespace

Replay replay(const Scene& scene, const ReplayOptions& options) {
  Replay result;
  scene.model.zero_grad();
  scene.model.discard_buffers();
  scene.fire_drill.begin(scene.iter);
  {
    const MasterWeights::InFp32 guard(
        scene.weights, [&](const std::string& name) { return inside_any(name, options.in_fp32); });
    Watch watch(scene, options, result);
    run_iteration(scene, options, watch, result);
    scene.model.zero_grad();  // of the parameters that the guard takes away again
  }
  scene.model.zero_grad();
  scene.model.discard_buffers();
  return result;
}

}  // namespace osprey
