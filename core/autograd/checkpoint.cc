#include "core/autograd/checkpoint.h"

namespace osprey {
namespace {

thread_local bool recompute_mode = false;

class RecomputeGuard {
 public:
  RecomputeGuard() : previous_(recompute_mode) { recompute_mode = true; }
  ~RecomputeGuard() { recompute_mode = previous_; }
  RecomputeGuard(const RecomputeGuard&) = delete;
  RecomputeGuard& operator=(const RecomputeGuard&) = delete;

 private:
  bool previous_;
};

// Leaves with the values of `inputs`: what is recorded on them ends there.
Variables cut(const Variables& inputs) {
  Variables leaves;
  for (const Variable& input : inputs) {
    leaves.push_back(input.defined() ? Variable(input.value(), input.requires_grad()) : Variable());
  }
  return leaves;
}

bool any_requires_grad(const Variables& inputs) {
  for (const Variable& input : inputs) {
    if (input.requires_grad()) return true;
  }
  return false;
}

Gradients differentiate_again(const std::function<Variable(const Variables&)>& fn, const Variables& leaves,
                              const Tensor& grad) {
  {
    const RecomputeGuard recompute;
    Variable result;
    {
      const EnableGradGuard record_again;
      result = fn(leaves);
    }
    if (result.requires_grad()) result.backward(grad);
  }
  Gradients gradients;
  for (const Variable& leaf : leaves) gradients.push_back(leaf.grad());
  return gradients;
}

}  // namespace

bool recomputing() { return recompute_mode; }

Variable checkpoint(const std::function<Variable(const Variables&)>& fn, const Variables& inputs) {
  if (!grad_enabled() || !any_requires_grad(inputs)) return fn(inputs);
  const Variables leaves = cut(inputs);
  Tensor value;
  {
    const NoGradGuard no_grad;
    value = fn(leaves).value();
  }
  return record("checkpoint", value, inputs,
                [fn, leaves](const Tensor& grad) { return differentiate_again(fn, leaves, grad); });
}

}  // namespace osprey
