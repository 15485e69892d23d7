#include "core/runner/replay.h"

#include <algorithm>
#include <cmath>

#include "core/runner/runner.h"

namespace osprey {
namespace {

// Installs an observer on this thread for the time of a replay.
class ScopedObserver {
 public:
  explicit ScopedObserver(OpObserver observer) { set_op_observer(std::move(observer)); }
  ~ScopedObserver() { set_op_observer(nullptr); }
  ScopedObserver(const ScopedObserver&) = delete;
  ScopedObserver& operator=(const ScopedObserver&) = delete;
};

struct Extremes {
  double largest = 0;  // finite magnitudes only
  bool has_inf = false, has_nan = false;
};

Extremes extremes_of(const Tensor& value) {
  const Tensor host = value.to(DType::kF32).to(kCPU);
  const float* x = host.data<float>();
  Extremes result;
  for (int64_t i = 0; i < host.numel(); ++i) {
    const float magnitude = std::abs(x[i]);
    if (std::isnan(magnitude)) {
      result.has_nan = true;
    } else if (std::isinf(magnitude)) {
      result.has_inf = true;
    } else {
      result.largest = std::max<double>(result.largest, magnitude);
    }
  }
  return result;
}

void examine(const OpEvent& event, Replay& result) {
  if (!is_floating(event.value.dtype())) return;
  const Extremes seen = extremes_of(event.value);
  if (event.backward && is_half(event.value.dtype()))
    result.largest_half_gradient = std::max(result.largest_half_gradient, seen.largest);
  if (!result.first_bad && (seen.has_inf || seen.has_nan)) {
    result.first_bad = {event.op, event.module_path, event.backward, event.value.dtype(), seen.has_nan};
  }
}

void run_iteration(Runner& runner, double loss_scale, Replay& result) {
  const LossDict losses = runner.model().forward_train(runner.batch());
  for (const auto& [name, value] : losses.entries()) {
    if (name.find("loss") != std::string::npos && !std::isfinite(value.value().item()))
      result.bad_losses.push_back(name);
  }
  if (!result.bad_losses.empty()) return;
  runner.backward(losses.total(), loss_scale);
  for (const auto& [name, parameter] : runner.model().named_parameters()) {
    const Tensor& grad = parameter->variable.grad();
    if (grad.defined() && !all_finite(grad)) result.bad_parameters.push_back(name);
  }
}

}  // namespace

Replay replay(Runner& runner, double loss_scale) {
  Replay result;
  runner.model().zero_grad();
  runner.model().discard_buffers();
  runner.fire_drill().begin(runner.iter());
  {
    const ScopedObserver observer([&](const OpEvent& event) {
      runner.fire_drill().on_op(event);
      examine(event, result);
    });
    run_iteration(runner, loss_scale, result);
  }
  runner.model().zero_grad();
  runner.model().discard_buffers();
  return result;
}

Replay replay_in_fp32(Runner& runner) {
  const MasterWeights::InFp32 guard(runner.weights());
  return replay(runner, 1);
}

}  // namespace osprey
