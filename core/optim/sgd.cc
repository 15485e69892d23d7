#include "core/optim/optimizer.h"
#include "core/optim/sgd_kernel.h"

namespace osprey {

DeviceKernel<void(std::vector<SgdJob>&)> sgd_kernel("SGD");

namespace {

// torch.optim.SGD: lr, momentum, dampening, weight_decay, nesterov.
class SGD final : public Optimizer {
 public:
  explicit SGD(const ConfigNode& cfg)
      : Optimizer(cfg, /*default_weight_decay=*/0),
        momentum_(cfg.get("momentum", 0.0, between(0, 1))),
        dampening_(cfg.get("dampening", 0.0, between(0, 1))),
        nesterov_(cfg.get("nesterov", false)) {
    if (nesterov_ && (momentum_ <= 0 || dampening_ != 0))
      cfg["nesterov"].fail("Nesterov momentum requires a momentum and zero dampening");
  }

  double base_momentum() const override { return momentum_; }
  std::vector<GroupOption> options(const ParamGroup& group) const override {
    std::vector<GroupOption> options = Optimizer::options(group);
    options.push_back({"momentum", {group.momentum}});
    options.push_back({"dampening", {dampening_}});
    options.push_back({"nesterov", {nesterov_ ? 1.0 : 0.0}, true});
    return options;
  }

 protected:
  void step_parameter(const ParamGroup& group, MasterParameter& param, const Tensor& grad, double grad_factor,
                      State& state) override {
    Tensor& buffer = state.tensors["momentum_buffer"];
    const bool first_step = !buffer.defined();
    if (group.momentum != 0 && first_step) buffer = Tensor::empty_like(param.value);
    const SgdHyper hyper{static_cast<float>(group.lr),
                         static_cast<float>(group.momentum),
                         static_cast<float>(dampening_),
                         static_cast<float>(group.weight_decay),
                         static_cast<float>(grad_factor),
                         nesterov_,
                         first_step};
    // A schedule may turn momentum off for a while: the buffer rests.
    jobs_.push_back({hyper, param.value, grad, group.momentum != 0 ? buffer : Tensor()});
    if (!buffer.defined()) state.tensors.clear();
  }

  void finish_step() override {
    if (!jobs_.empty()) sgd_kernel(jobs_.front().param.device(), jobs_);
    jobs_.clear();
  }

 private:
  double momentum_;
  double dampening_;
  bool nesterov_;
  std::vector<SgdJob> jobs_;  // of the step under way
};

OSPREY_REGISTER_OPTIMIZER(SGD);

}  // namespace
}  // namespace osprey
