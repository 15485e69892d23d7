#pragma once

#include "core/optim/optimizer.h"

namespace osprey {

struct AdamJob;

// What Adam and AdamW share: keys lr, betas, eps, weight_decay, amsgrad. They differ in where the weight
// decay goes.
class AdamBase : public Optimizer {
 public:
  double base_momentum() const override { return beta1_; }
  std::vector<GroupOption> options(const ParamGroup& group) const override;

 protected:
  AdamBase(const ConfigNode& cfg, double default_weight_decay, bool decoupled_decay);
  ~AdamBase() override;
  void step_parameter(const ParamGroup& group, MasterParameter& param, const Tensor& grad, double grad_factor,
                      State& state) override;
  void finish_step() override;

 private:
  bool decoupled_decay_;
  double beta1_, beta2_;
  double eps_;
  bool amsgrad_;
  std::vector<AdamJob> jobs_;  // of the step under way
};

}  // namespace osprey
