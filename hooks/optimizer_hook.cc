#include "hooks/optimizer_hook.h"

#include <cmath>

#include "core/base/logging.h"
#include "core/runner/runner.h"

namespace osprey {

OptimizerHook::OptimizerHook(const ConfigNode& cfg) : grad_clip_(GradClip::from(cfg.find("grad_clip"))) {
  if (!cfg.find("max_consecutive_skips").is_null())
    max_consecutive_skips_ = cfg.get("max_consecutive_skips", 1, positive());
}

void OptimizerHook::before_run(Runner& runner) {
  runner_ = &runner;
  if (window_.cumulative_iters() > 1 && !runner.model().named_buffers().empty())
    log_warning(
        "gradient accumulation does not accumulate the statistics of BatchNorm: they see single batches");
}

Verdict OptimizerHook::train_step(Runner& runner, const LossDict& losses) {
  if (window_.lost(runner)) return window_lost();
  if (auto bad = nonfinite_losses(losses); !bad.empty())
    return skip(runner, {NonFiniteEvent::Where::kLoss, std::move(bad), 1});
  runner.backward(losses.total(), 1.0 / static_cast<double>(window_.loss_factor(runner)));
  if (auto bad = runner.weights().take_grads(1); !bad.empty())
    return skip(runner, {NonFiniteEvent::Where::kGradient, std::move(bad), 1});
  if (!window_.closes(runner)) return Verdict::accumulating();
  if (!clip_and_step(runner)) return skip(runner, {NonFiniteEvent::Where::kGradient, {}, 1});
  return Verdict::committed();
}

std::vector<std::string> OptimizerHook::nonfinite_losses(const LossDict& losses) {
  std::vector<std::string> bad;
  for (const auto& [name, value] : losses.entries()) {
    if (name.find("loss") != std::string::npos && !std::isfinite(value.value().item())) bad.push_back(name);
  }
  if (bad.empty() && !std::isfinite(losses.total().value().item())) bad.push_back("loss");
  return bad;
}

Verdict OptimizerHook::skip(Runner& runner, NonFiniteEvent event) {
  window_.lose(runner);
  return Verdict::skipped(std::move(event));
}

Verdict OptimizerHook::window_lost() {
  NonFiniteEvent event;
  event.window_lost = true;
  return Verdict::skipped(event);
}

bool OptimizerHook::clip_and_step(Runner& runner) {
  const double norm = grad_norm(runner.weights().trainable(), grad_clip_.norm_type);
  if (!std::isfinite(norm)) return false;
  runner.optimizer().step(clip_factor(grad_clip_, norm));
  runner.log_buffer().stage("grad_norm", norm, runner.batch().size());
  runner.weights().copy_to_model();
  runner.weights().drop_grads();
  return true;
}

void OptimizerHook::save_state(StateDict& state) const {
  if (runner_ != nullptr) AccumulationWindow::save(*runner_, state);
}

void OptimizerHook::load_state(const StateDict& state) { AccumulationWindow::load(*runner_, state); }

OSPREY_REGISTER_HOOK(OptimizerHook);

}  // namespace osprey
