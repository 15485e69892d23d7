#include "core/optim/optimizer.h"

#include <cmath>

namespace osprey {

OSPREY_DEFINE_REGISTRY(Optimizer, "optimizer");

namespace {

constexpr char kStep[] = ".step";

Tensor step_tensor(int64_t step) { return Tensor::from<int64_t>({step}, {}); }

// Splits "a.b.weight.exp_avg" behind the parameter's name.
std::pair<std::string, std::string> split_key(const std::string& entry) {
  const size_t dot = entry.rfind('.');
  if (dot == std::string::npos) return {"", entry};
  return {entry.substr(0, dot), entry.substr(dot + 1)};
}

}  // namespace

Optimizer::Optimizer(const ConfigNode& cfg, double default_weight_decay) {
  base_lr_ = cfg.get<double>("lr", non_negative());
  base_weight_decay_ = cfg.get("weight_decay", default_weight_decay, non_negative());
}

void Optimizer::set_groups(std::vector<ParamGroup> groups) {
  groups_ = std::move(groups);
  for (ParamGroup& group : groups_) group.momentum = group.initial_momentum = base_momentum();
}

std::vector<GroupOption> Optimizer::options(const ParamGroup& group) const {
  return {{"lr", {group.lr}}, {"initial_lr", {group.initial_lr}}, {"weight_decay", {group.weight_decay}}};
}

void Optimizer::step(double grad_factor) {
  for (const ParamGroup& group : groups_) {
    for (MasterParameter* param : group.params) {
      if (!param->requires_grad || (!param->grad.defined() && !states_.count(param->name))) continue;
      State& state = states_[param->name];
      ++state.step;
      const Tensor grad = param->grad.defined() ? param->grad : Tensor::zeros_like(param->value);
      step_parameter(group, *param, grad, grad_factor, state);
    }
  }
  finish_step();
}

StateDict Optimizer::state_dict() const {
  StateDict dict;
  for (const ParamGroup& group : groups_) {
    for (const MasterParameter* param : group.params) {
      const auto found = states_.find(param->name);
      if (found == states_.end()) continue;
      for (const auto& [key, tensor] : found->second.tensors)
        dict.put(param->name + "." + key, param->layout.to_reference(tensor));
      dict.put(param->name + kStep, step_tensor(found->second.step));
    }
  }
  return dict;
}

std::vector<std::string> Optimizer::load_state_dict(const StateDict& dict) {
  std::map<std::string, const MasterParameter*> known;
  for (const ParamGroup& group : groups_) {
    for (const MasterParameter* param : group.params) {
      if (param->requires_grad) known[param->name] = param;
    }
  }
  states_.clear();
  std::vector<std::string> unknown;
  for (const auto& [entry, tensor] : dict.entries()) {
    const auto [name, key] = split_key(entry);
    const auto param = known.find(name);
    if (param == known.end()) {
      unknown.push_back(entry);
      continue;
    }
    State& state = states_[name];
    if (key == "step") {
      state.step = static_cast<int64_t>(tensor.item());
      continue;
    }
    const Tensor& value = param->second->value;
    const Shape expected = param->second->layout.to_reference(value).shape();
    if (tensor.shape() != expected) {
      throw UserError(str_cat("optimizer state '", entry, "' has shape ", to_string(tensor.shape()),
                              ", its parameter ", to_string(expected)));
    }
    state.tensors[key] =
        param->second->layout.from_reference(tensor).to(DType::kF32).to(value.device()).clone();
  }
  return unknown;
}

}  // namespace osprey
