#include "hooks/accumulation_window.h"

#include "core/parallel/communicator.h"
#include "core/runner/runner.h"

namespace osprey {
namespace {

constexpr char kGrad[] = "grad.";
constexpr char kBuffer[] = "buffer.";

// "grad." of rank 0, "rank1.grad." of the next: until the window closes they are each rank's own.
std::string prefix_of(int rank) { return rank == 0 ? kGrad : str_cat("rank", rank, ".", kGrad); }

// What `master` has gathered on rank `owner`, for all; undefined when that is nothing.
Tensor grad_of(const MasterParameter& master, int owner) {
  if (world().size() == 1) return master.grad;
  std::string exists = master.grad.defined() ? "yes" : "";
  world().broadcast(exists, owner);
  if (exists.empty()) return {};
  Tensor grad = world().rank() == owner ? master.grad : Tensor::empty_like(master.value);
  world().broadcast(grad, owner);
  return grad;
}

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
  for (int rank = 0; rank < world().size(); ++rank) {
    for (const auto& master : runner.weights().all()) {
      const Tensor grad = grad_of(*master, rank);
      if (grad.defined()) state.put(prefix_of(rank) + master->name, grad);
    }
  }
  if (state.size() == 0) return;
  for (const auto& [name, buffer] : runner.model().named_buffers()) {
    if (buffer->staged.defined()) state.put(kBuffer + name, buffer->staged);
  }
}

void AccumulationWindow::load(Runner& runner, const StateDict& state) {
  for (const auto& master : runner.weights().all()) {
    if (const Tensor* grad = state.find(prefix_of(world().rank()) + master->name))
      master->grad = grad->to(master->value.device()).clone();
  }
  for (const auto& [name, buffer] : runner.model().named_buffers()) {
    if (const Tensor* staged = state.find(kBuffer + name))
      buffer->staged = staged->to(buffer->value.device()).clone();
  }
}

}  // namespace osprey
