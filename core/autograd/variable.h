#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/tensor/tensor.h"

// Reverse-mode automatic differentiation on a define-by-run tape. `Tensor` is data, `Variable` is a tensor on
// the tape: kernels, data and metrics speak Tensor, models and losses speak Variable. First order only.
namespace osprey {

using Gradients = std::vector<Tensor>;  // one per input of a node, in order; undefined = no gradient

struct VariableState;
struct Node;

class Variable {
 public:
  Variable() = default;  // undefined
  // A leaf. Implicit, so that a plain tensor (an image, a target) can stand wherever an op takes a Variable.
  Variable(Tensor value, bool requires_grad = false);  // NOLINT(google-explicit-constructor)

  bool defined() const { return state_ != nullptr; }
  const Tensor& value() const;
  Tensor& mutable_value();  // leaves only (parameters): an optimizer step, a checkpoint load
  const Shape& shape() const { return value().shape(); }
  int64_t dim(int axis) const { return value().dim(axis); }
  int64_t numel() const { return value().numel(); }
  DType dtype() const { return value().dtype(); }
  Device device() const { return value().device(); }

  bool requires_grad() const;
  void set_requires_grad(bool on);  // leaves only
  // Accumulated gradient of a leaf, in the leaf's dtype; undefined before the first backward.
  const Tensor& grad() const;
  Tensor& mutable_grad();
  void zero_grad();  // makes grad() undefined

  // A leaf with the same value, cut from the tape.
  Variable detach() const;

  // Runs the tape from this scalar with gradient `seed` (the loss scale). Frees every node it ran.
  void backward(double seed = 1.0) const;
  // The same for any shape, with the given upstream gradient.
  void backward(const Tensor& gradient) const;

  const std::shared_ptr<VariableState>& state() const { return state_; }

 private:
  friend Variable record(const char*, Tensor, std::vector<Variable>, std::function<Gradients(const Tensor&)>);
  std::shared_ptr<VariableState> state_;
};

using Variables = std::vector<Variable>;

// Puts an op's result on the tape. `backward` maps dL/d(value) to one gradient per input, each with the shape
// of its input; it must own copies (handles) of what it needs and nothing more. When no input requires a
// gradient, or under NoGradGuard, nothing is recorded. A gradient whose dtype differs from its input's is
// converted.
Variable record(const char* op, Tensor value, std::vector<Variable> inputs,
                std::function<Gradients(const Tensor& grad)> backward);

// While one lives on this thread, record() records nothing.
class NoGradGuard {
 public:
  NoGradGuard();
  ~NoGradGuard();
  NoGradGuard(const NoGradGuard&) = delete;
  NoGradGuard& operator=(const NoGradGuard&) = delete;

 private:
  bool previous_;
};
// The opposite, for code that records inside a backward pass (see checkpoint.h).
class EnableGradGuard {
 public:
  EnableGradGuard();
  ~EnableGradGuard();
  EnableGradGuard(const EnableGradGuard&) = delete;
  EnableGradGuard& operator=(const EnableGradGuard&) = delete;

 private:
  bool previous_;
};
bool grad_enabled();

// Names the module whose forward runs on this thread ("roi_head.bbox_head.1.fc_reg"); nodes remember it, so
// that a bad value can be attributed. Modules open one around their forward.
class ModuleScope {
 public:
  explicit ModuleScope(const std::string& path);
  ~ModuleScope();
  ModuleScope(const ModuleScope&) = delete;
  ModuleScope& operator=(const ModuleScope&) = delete;

 private:
  const std::string* previous_;
};
// "" outside any module.
const std::string& current_module_path();

// Sees every op as it runs: forward (value = output) and backward (value = gradient of one input). For
// numerics forensics and profiling. One per thread; null removes it.
struct OpEvent {
  const char* op;
  const std::string& module_path;
  bool backward;
  const Tensor& value;
};
using OpObserver = std::function<void(const OpEvent&)>;
void set_op_observer(OpObserver observer);

}  // namespace osprey
