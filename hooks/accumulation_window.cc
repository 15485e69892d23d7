#include "hooks/accumulation_window.h"

#include "core/runner/runner.h"

namespace osprey {
namespace {

constexpr char kGrad[] = "grad.";
constexpr char kBuffer[] = "buffer.";

}  // namespace

AccumulationWindow::AccumulationWindow(const ConfigNode& cfg)
    : cumulative_iters_(cfg.get("cumulative_iters", int64_t{1}, positive())) {}

int64_t AccumulationWindow::loss_factor(const Runner& runner) const {
  const int64_t remainder = runner.max_iters() % cumulative_iters_;
  return runner.iter() < runner.max_iters() - remainder ? cumulative_iters_ : remainder;
}

bool AccumulationWindow::closes(const Runner& runner) const {
  return (runner.iter() + 1) % cumulative_iters_ == 0 || runner.iter() + 1 == runner.max_iters();
}

bool AccumulationWindow::lost(const Runner& runner) {
  const bool lost = lost_;
  if (closes(runner)) lost_ = false;
  return lost;
}

void AccumulationWindow::save(Runner& runner, StateDict& state) {
  for (const auto& master : runner.weights().all()) {
    if (master->grad.defined()) state.put(kGrad + master->name, master->grad);
  }
  if (state.size() == 0) return;
  for (const auto& [name, buffer] : runner.model().named_buffers()) {
    if (buffer->staged.defined()) state.put(kBuffer + name, buffer->staged);
  }
}

void AccumulationWindow::load(Runner& runner, const StateDict& state) {
  for (const auto& master : runner.weights().all()) {
    if (const Tensor* grad = state.find(kGrad + master->name))
      master->grad = grad->to(master->value.device()).clone();
  }
  for (const auto& [name, buffer] : runner.model().named_buffers()) {
    if (const Tensor* staged = state.find(kBuffer + name))
      buffer->staged = staged->to(buffer->value.device()).clone();
  }
}

}  // namespace osprey
