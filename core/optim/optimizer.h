#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/nn/module.h"
#include "core/optim/group_option.h"
#include "core/optim/master_parameter.h"
#include "core/registry/registry.h"

namespace osprey {

// Parameters that share their hyper-parameters (torch.optim's param_groups).
struct ParamGroup {
  double lr = 0;
  double initial_lr = 0;  // what schedules start from
  double weight_decay = 0;
  std::vector<MasterParameter*> params;
  double momentum = 0;  // SGD's momentum, Adam's first beta; set_groups() fills both in
  double initial_momentum = 0;
};

// A gradient method on f32 masters, with the arithmetic of PyTorch 1.13. Registered types: SGD, Adam, AdamW.
// Because it never sees a half, an epsilon such as Adam's 1e-8 cannot be lost to rounding.
class Optimizer {
 public:
  // Reads `lr` (required, >= 0) and `weight_decay`.
  Optimizer(const ConfigNode& cfg, double default_weight_decay);
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Takes the groups over, each with the optimizer's momentum; the masters must outlive the optimizer. Frozen
  // parameters may be among them, as in PyTorch; they are never stepped.
  void set_groups(std::vector<ParamGroup> groups);
  std::vector<ParamGroup>& groups() { return groups_; }
  const std::vector<ParamGroup>& groups() const { return groups_; }
  double base_lr() const { return base_lr_; }
  double base_weight_decay() const { return base_weight_decay_; }
  // SGD's momentum or Adam's first beta, as configured.
  virtual double base_momentum() const { return 0; }
  // What torch.optim keeps of a group beside its parameters, under its names, for checkpoints.
  virtual std::vector<GroupOption> options(const ParamGroup& group) const;

  // One step from the masters' gradients, each multiplied by `grad_factor` (the clipping coefficient) on the
  // way. A parameter that never had a gradient is left alone; one that merely has none in this iteration is
  // stepped with a zero gradient, as after PyTorch's zero_grad(): its momentum and weight decay go on.
  void step(double grad_factor = 1.0);

  // State tensors in the reference layout as "<parameter>.<key>" with PyTorch's keys: momentum_buffer,
  // exp_avg, exp_avg_sq, max_exp_avg_sq, step (i64 scalar).
  StateDict state_dict() const;
  // Throws UserError when a known parameter's state has another shape; returns the names in `state` that
  // belong to no parameter here.
  std::vector<std::string> load_state_dict(const StateDict& state);

 protected:
  struct State {
    int64_t step = 0;
    std::map<std::string, Tensor> tensors;  // f32, stored layout
  };
  // Updates param.value and the state from `grad`, at once or in finish_step(); `state.step` has been
  // advanced already (1 at the first step).
  virtual void step_parameter(const ParamGroup& group, MasterParameter& param, const Tensor& grad,
                              double grad_factor, State& state) = 0;
  // Follows the last step_parameter() of a step: for optimizers that update all parameters in one pass.
  virtual void finish_step() {}

 private:
  double base_lr_;
  double base_weight_decay_;
  std::vector<ParamGroup> groups_;
  std::map<std::string, State> states_;  // of the parameters that have been stepped
};

OSPREY_DECLARE_REGISTRY(Optimizer);

}  // namespace osprey

#define OSPREY_REGISTER_OPTIMIZER(Type) OSPREY_REGISTER(::osprey::Optimizer, Type)
