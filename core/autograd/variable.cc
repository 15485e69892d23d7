#include "core/autograd/variable.h"

#include <atomic>
#include <queue>
#include <unordered_set>

#include "core/autograd/accumulate.h"
#include "core/autograd/op_inputs.h"
#include "core/base/work_context.h"

namespace osprey {

struct VariableState {
  Tensor value;
  Tensor grad;  // leaves only
  bool requires_grad = false;
  std::shared_ptr<Node> node;  // null for leaves
};

// A recorded op. Nodes own their inputs' states, so the graph lives exactly as long as its last result.
struct Node {
  const char* op;
  std::string module_path;
  uint64_t sequence;  // order of creation: a node's inputs are always older than it
  std::vector<std::shared_ptr<VariableState>> inputs;
  std::function<Gradients(const Tensor&)> backward;
  Shape shape;  // of the output
  DType dtype;
  Tensor grad;  // accumulated dL/d(output) during a backward run

  // A long chain of nodes would otherwise be destroyed recursively and exhaust the stack.
  ~Node();
};

namespace {

std::atomic<uint64_t> next_sequence{0};
thread_local bool grad_mode = true;
thread_local OpObserver op_observer;
// Of the op that the observer is looking at: one of the two, or neither.
thread_local const std::vector<Variable>* seen_inputs = nullptr;
thread_local const Tensor* seen_gradient = nullptr;

void observe(const char* op, const std::string& path, bool backward, const Tensor& value) {
  if (op_observer && value.defined()) op_observer({op, path, backward, value});
}

void observe_forward(const char* op, const Tensor& value, const std::vector<Variable>& inputs) {
  seen_inputs = &inputs;
  seen_gradient = nullptr;  // an observer that threw has left it
  observe(op, current_module_path(), false, value);
  seen_inputs = nullptr;
}

void observe_backward(const char* op, const Tensor& value, const Tensor& gradient) {
  seen_gradient = &gradient;
  seen_inputs = nullptr;
  observe(op, current_module_path(), true, value);
  seen_gradient = nullptr;
}

struct OlderFirst {
  bool operator()(const std::shared_ptr<Node>& a, const std::shared_ptr<Node>& b) const {
    return a->sequence < b->sequence;
  }
};

using NodeQueue = std::priority_queue<std::shared_ptr<Node>, std::vector<std::shared_ptr<Node>>, OlderFirst>;

// Hands `gradient` to the input it belongs to: into a leaf's grad, or to the node that made it.
void deliver(const std::shared_ptr<VariableState>& input, const Tensor& gradient, NodeQueue& queue,
             std::unordered_set<Node*>& queued) {
  const Tensor typed = gradient.to(input->value.dtype());
  if (input->node == nullptr) {
    accumulate(input->grad, typed);
    return;
  }
  accumulate(input->node->grad, typed);
  if (queued.insert(input->node.get()).second) queue.push(input->node);
}

void run_node(Node& node, NodeQueue& queue, std::unordered_set<Node*>& queued) {
  OSPREY_REQUIRE(node.backward, node.op,
                 ": backward runs through the graph a second time; its buffers are freed");
  const ModuleScope scope(node.module_path);
  const std::string work = std::string("backward of ") + node.op;
  const OpScope op_scope(work.c_str());
  const Tensor grad = std::move(node.grad);
  node.grad = Tensor();
  const Gradients gradients = node.backward(grad);
  node.backward = nullptr;
  const auto inputs = std::move(node.inputs);
  node.inputs.clear();
  OSPREY_ASSERT(gradients.size() == inputs.size(), node.op, ": backward returned ", gradients.size(),
                " gradients for ", inputs.size(), " inputs");
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]->requires_grad || !gradients[i].defined()) continue;
    OSPREY_ASSERT(gradients[i].shape() == inputs[i]->value.shape(), node.op, ": gradient ", i, " has shape ",
                  to_string(gradients[i].shape()), ", its input ", to_string(inputs[i]->value.shape()));
    // In the input's dtype: an overflow of the conversion belongs to this op.
    const Tensor typed = gradients[i].to(inputs[i]->value.dtype());
    observe_backward(node.op, typed, grad);
    deliver(inputs[i], typed, queue, queued);
  }
}

}  // namespace

Node::~Node() {
  std::vector<std::shared_ptr<VariableState>> pending = std::move(inputs);
  while (!pending.empty()) {
    const std::shared_ptr<VariableState> state = std::move(pending.back());
    pending.pop_back();
    if (state.use_count() == 1 && state->node && state->node.use_count() == 1) {
      for (auto& input : state->node->inputs) pending.push_back(std::move(input));
      state->node->inputs.clear();
    }
  }
}

Variable::Variable(Tensor value, bool requires_grad) : state_(std::make_shared<VariableState>()) {
  state_->value = std::move(value);
  state_->requires_grad = requires_grad;
}

const Tensor& Variable::value() const {
  OSPREY_REQUIRE(defined(), "the variable is undefined");
  return state_->value;
}

Tensor& Variable::mutable_value() {
  OSPREY_REQUIRE(defined() && !state_->node, "mutable_value: only leaves may change");
  return state_->value;
}

bool Variable::requires_grad() const { return defined() && state_->requires_grad; }

void Variable::set_requires_grad(bool on) {
  OSPREY_REQUIRE(defined() && !state_->node, "set_requires_grad: only leaves have the switch");
  state_->requires_grad = on;
}

const Tensor& Variable::grad() const {
  OSPREY_REQUIRE(defined(), "the variable is undefined");
  return state_->grad;
}

Tensor& Variable::mutable_grad() {
  OSPREY_REQUIRE(defined(), "the variable is undefined");
  return state_->grad;
}

void Variable::zero_grad() { mutable_grad() = Tensor(); }

Variable Variable::detach() const { return Variable(value()); }

void Variable::backward(double seed) const {
  OSPREY_REQUIRE(numel() == 1, "backward: needs a scalar, got ", describe(value()));
  backward(Tensor::full(shape(), seed, dtype(), device()));
}

void Variable::backward(const Tensor& gradient) const {
  OSPREY_REQUIRE(gradient.shape() == shape(), "backward: gradient ", to_string(gradient.shape()),
                 " for value ", to_string(shape()));
  OSPREY_REQUIRE(requires_grad(), "backward: nothing on the tape requires a gradient");
  NodeQueue queue;
  std::unordered_set<Node*> queued;
  const NoGradGuard no_grad;
  deliver(state_, gradient, queue, queued);
  while (!queue.empty()) {
    const std::shared_ptr<Node> node = queue.top();
    queue.pop();
    run_node(*node, queue, queued);
  }
}

Variable record(const char* op, Tensor value, std::vector<Variable> inputs,
                std::function<Gradients(const Tensor&)> backward) {
  observe_forward(op, value, inputs);
  Variable result(std::move(value));
  if (!grad_mode) return result;
  bool needed = false;
  for (const Variable& input : inputs) needed = needed || input.requires_grad();
  if (!needed) return result;
  auto node = std::make_shared<Node>();
  node->op = op;
  node->module_path = current_module_path();
  node->sequence = next_sequence.fetch_add(1, std::memory_order_relaxed);
  for (const Variable& input : inputs) {
    OSPREY_REQUIRE(input.defined(), op, ": an input is undefined");
    node->inputs.push_back(input.state());
  }
  node->backward = std::move(backward);
  node->shape = result.shape();
  node->dtype = result.dtype();
  result.state_->requires_grad = true;
  result.state_->node = std::move(node);
  return result;
}

NoGradGuard::NoGradGuard() : previous_(grad_mode) { grad_mode = false; }
NoGradGuard::~NoGradGuard() { grad_mode = previous_; }
EnableGradGuard::EnableGradGuard() : previous_(grad_mode) { grad_mode = true; }
EnableGradGuard::~EnableGradGuard() { grad_mode = previous_; }
bool grad_enabled() { return grad_mode; }

ModuleScope::ModuleScope(const std::string& path) : previous_(work_context().module_path) {
  work_context().module_path = &path;
}
ModuleScope::~ModuleScope() { work_context().module_path = previous_; }

const std::string& current_module_path() {
  static const std::string none;
  const std::string* path = work_context().module_path;
  return path ? *path : none;
}

void set_op_observer(OpObserver observer) { op_observer = std::move(observer); }

Tensors observed_inputs() {
  Tensors inputs;
  if (seen_gradient) inputs.push_back(*seen_gradient);
  if (!seen_inputs) return inputs;
  for (const Variable& input : *seen_inputs) {
    if (input.defined()) inputs.push_back(input.value());
  }
  return inputs;
}

}  // namespace osprey
