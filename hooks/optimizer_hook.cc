#include "hooks/optimizer_hook.h"

#include <cmath>

#include "core/amp/sum_gradients.h"
#include "core/base/logging.h"
#include "core/runner/runner.h"

namespace osprey {

OptimizerHook::OptimizerHook(const ConfigNode& cfg) : grad_clip_(GradClip::from(cfg.find("grad_clip"))) {
  if (!cfg.find("max_consecutive_skips").is_null())
    max_consecutive_skips_ = cfg.get("max_consecutive_skips", 1, positive());
  buckets_.coalesce = cfg.get("coalesce", true);
  buckets_.bucket_size_mb = cfg.get("bucket_size_mb", -1, at_least(-1));
}

void OptimizerHook::before_run(Runner& runner) {
  runner_ = &runner;
  if (window_.cumulative_iters() > 1 && !runner.model().named_buffers().empty())
    log_warning(
        "gradient accumulation does not accumulate the statistics of BatchNorm: they see single batches");
}

Verdict OptimizerHook::train_step(Runner& runner, const LossDict& losses) {
  if (window_.lost(runner)) return window_lost();
  Outcome outcome = backward(runner, losses, /*loss_scale=*/1);
  if (!outcome.bad_losses.empty()) return skip_loss(runner, std::move(outcome), 1);
  if (!outcome.bad_grads.empty()) {
    return skip(runner, {.names = std::move(outcome.bad_grads), .on_this_rank = outcome.own});
  }
  if (!window_.closes(runner)) return Verdict::accumulating();
  if (!clip_and_step(runner, outcome.grad_norm)) return skip(runner, {});
  return Verdict::committed();
}

OptimizerHook::Outcome OptimizerHook::backward(Runner& runner, const LossDict& losses, double loss_scale) {
  Outcome outcome;
  const Variable total = losses.total();
  if (!total.device().is_cuda()) {  // the numbers are here: a bad loss costs no backward pass
    const Runner::Look seen = runner.look(losses);
    outcome.bad_losses = nonfinite_losses(losses, seen.losses);
    outcome.own = !seen.own_finite;
    if (!outcome.bad_losses.empty()) return outcome;
  }
  runner.backward(total, loss_scale / loss_factor(runner));
  MasterWeights& weights = runner.weights();
  // Divided by the number of ranks on the way, so that the sum over them is the mean.
  const Tensor own_marks = weights.start_taking_grads(loss_scale * world().size());
  const Tensor marks = sum_marks(own_marks);
  Tensor norm;
  if (window_.closes(runner)) {
    sum_gradients(weights, buckets_);
    norm = start_grad_norm(weights.trainable(), grad_clip_.norm_type);
  }
  const Runner::Look seen = runner.look(losses, {marks, norm, own_marks});
  outcome.bad_losses = nonfinite_losses(losses, seen.losses);
  if (marks.defined()) {
    outcome.bad_grads = weights.nonfinite_grads(seen.also[0].to_vector<int32_t>());
    outcome.own = !seen.own_finite || !weights.nonfinite_grads(seen.also[2].to_vector<int32_t>()).empty();
  }
  if (norm.defined()) outcome.grad_norm = finish_grad_norm(seen.also[1].item(), grad_clip_.norm_type);
  return outcome;
}

// Not 0 where any rank's mark is; the tensor itself when there is one rank.
Tensor OptimizerHook::sum_marks(const Tensor& own) {
  if (world().size() == 1 || !own.defined()) return own;
  Tensor marks = own.clone();
  world().all_reduce(marks);
  return marks;
}

std::vector<std::string> OptimizerHook::nonfinite_losses(const LossDict& losses,
                                                         const std::vector<double>& numbers) {
  std::vector<std::string> bad;
  for (size_t i = 0; i < losses.entries().size(); ++i) {
    const std::string& name = losses.entries()[i].first;
    if (name.find("loss") != std::string::npos && !std::isfinite(numbers[i])) bad.push_back(name);
  }
  if (bad.empty() && !std::isfinite(numbers.back())) bad.push_back("loss");
  return bad;
}

Verdict OptimizerHook::skip(Runner& runner, NonFiniteEvent event) {
  window_.lose(runner);
  return Verdict::skipped(std::move(event));
}

Verdict OptimizerHook::skip_loss(Runner& runner, Outcome outcome, double loss_scale) {
  return skip(runner, {.where = NonFiniteEvent::Where::kLoss,
                       .names = std::move(outcome.bad_losses),
                       .loss_scale = loss_scale,
                       .on_this_rank = outcome.own});
}

Verdict OptimizerHook::window_lost() {
  NonFiniteEvent event;
  event.window_lost = true;
  return Verdict::skipped(event);
}

bool OptimizerHook::clip_and_step(Runner& runner, double norm) {
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
