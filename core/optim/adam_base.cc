#include "core/optim/adam_base.h"

#include <cmath>

#include "core/optim/adam_kernel.h"

namespace osprey {

DeviceKernel<void(std::vector<AdamJob>&)> adam_kernel("Adam");

AdamBase::~AdamBase() = default;

AdamBase::AdamBase(const ConfigNode& cfg, double default_weight_decay, bool decoupled_decay)
    : Optimizer(cfg, default_weight_decay),
      decoupled_decay_(decoupled_decay),
      eps_(cfg.get("eps", 1e-8, non_negative())),
      amsgrad_(cfg.get("amsgrad", false)) {
  const auto betas = cfg.get<std::vector<double>>("betas", {0.9, 0.999});
  const auto valid = [](double beta) { return beta >= 0 && beta < 1; };
  if (betas.size() != 2 || !valid(betas[0]) || !valid(betas[1]))
    cfg["betas"].fail("must be two numbers in [0, 1)");
  beta1_ = betas[0];
  beta2_ = betas[1];
}

std::vector<GroupOption> AdamBase::options(const ParamGroup& group) const {
  std::vector<GroupOption> options = Optimizer::options(group);
  options.push_back({"betas", {group.momentum, beta2_}});
  options.push_back({"eps", {eps_}});
  options.push_back({"amsgrad", {amsgrad_ ? 1.0 : 0.0}, true});
  return options;
}

void AdamBase::step_parameter(const ParamGroup& group, MasterParameter& param, const Tensor& grad,
                              double grad_factor, State& state) {
  Tensor& exp_avg = state.tensors["exp_avg"];
  Tensor& exp_avg_sq = state.tensors["exp_avg_sq"];
  if (!exp_avg.defined()) exp_avg = Tensor::zeros_like(param.value);
  if (!exp_avg_sq.defined()) exp_avg_sq = Tensor::zeros_like(param.value);
  Tensor max_exp_avg_sq;
  if (amsgrad_) {
    Tensor& kept = state.tensors["max_exp_avg_sq"];
    if (!kept.defined()) kept = Tensor::zeros_like(param.value);
    max_exp_avg_sq = kept;
  }
  const double t = static_cast<double>(state.step), beta1 = group.momentum;
  AdamHyper hyper{};
  hyper.beta1 = static_cast<float>(beta1);
  hyper.beta2 = static_cast<float>(beta2_);
  hyper.eps = static_cast<float>(eps_);
  hyper.one_minus_beta1 = static_cast<float>(1 - beta1);
  hyper.one_minus_beta2 = static_cast<float>(1 - beta2_);
  hyper.step_size = static_cast<float>(group.lr / (1 - std::pow(beta1, t)));
  hyper.sqrt_bias_correction2 = static_cast<float>(std::sqrt(1 - std::pow(beta2_, t)));
  hyper.l2 = decoupled_decay_ ? 0.f : static_cast<float>(group.weight_decay);
  hyper.decay = decoupled_decay_ ? static_cast<float>(1 - group.lr * group.weight_decay) : 1.f;
  hyper.grad_factor = static_cast<float>(grad_factor);
  jobs_.push_back({hyper, param.value, grad, exp_avg, exp_avg_sq, max_exp_avg_sq});
}

void AdamBase::finish_step() {
  if (!jobs_.empty()) adam_kernel(jobs_.front().param.device(), jobs_);
  jobs_.clear();
}

}  // namespace osprey
