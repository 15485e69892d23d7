#include "core/amp/master_weights.h"

#include "core/amp/unscale_kernel.h"

namespace osprey {

MasterWeights::MasterWeights(Module& model) : model_(model) {
  for (const auto& [name, parameter] : model.named_parameters()) {
    OSPREY_REQUIRE(parameter->variable.dtype() == DType::kF32, "MasterWeights: ", name, " is ",
                   parameter->variable.dtype(), ", expected f32");
    masters_.push_back(std::make_unique<MasterParameter>(MasterParameter{
        name, parameter->variable.value(), Tensor(), parameter->layout, parameter->requires_grad()}));
    parameters_.push_back(parameter);
    grad_buffers_.emplace_back();
  }
}

void MasterWeights::convert_model(DType dtype, const std::vector<std::string>& keep_fp32) {
  OSPREY_ASSERT(precision_ == DType::kF32, "the model is converted already");
  precision_ = dtype;
  model_.convert_precision(dtype, keep_fp32);
}

std::vector<MasterParameter*> MasterWeights::trainable() const {
  std::vector<MasterParameter*> params;
  for (const auto& master : masters_) {
    if (master->requires_grad) params.push_back(master.get());
  }
  return params;
}

MasterParameter* MasterWeights::find(const std::string& name) const {
  for (const auto& master : masters_) {
    if (master->name == name) return master.get();
  }
  return nullptr;
}

std::vector<std::string> MasterWeights::take_grads(double loss_scale) {
  const float factor = static_cast<float>(1 / loss_scale);
  std::vector<std::string> bad;
  for (size_t i = 0; i < masters_.size(); ++i) {
    Variable& variable = parameters_[i]->variable;
    const Tensor grad = variable.grad();
    if (!grad.defined()) continue;
    variable.zero_grad();
    MasterParameter& master = *masters_[i];
    const bool accumulate = master.grad.defined();
    bool finite = true;
    if (!accumulate && factor == 1 && grad.dtype() == DType::kF32) {
      master.grad = grad;  // nothing to convert
      finite = all_finite(grad);
    } else {
      add_grad(i, grad, factor, accumulate, &finite);
    }
    if (!finite) bad.push_back(master.name);
  }
  return bad;
}

// Writes into a buffer that is kept between iterations: fresh memory for every gradient would cost more in
// page faults than the arithmetic.
void MasterWeights::add_grad(size_t i, const Tensor& grad, float factor, bool accumulate, bool* finite) {
  MasterParameter& master = *masters_[i];
  Tensor& buffer = grad_buffers_[i];
  if (!buffer.defined()) buffer = Tensor(master.value.shape(), DType::kF32, master.value.device());
  if (accumulate && !master.grad.shares_storage(buffer)) buffer.copy_from(master.grad);
  unscale_kernel(grad.device(), grad, factor, accumulate, buffer, finite);
  master.grad = buffer;
}

void MasterWeights::drop_grads() {
  for (const auto& master : masters_) master->grad = Tensor();
  for (Parameter* parameter : parameters_) parameter->variable.zero_grad();
}

void MasterWeights::copy_to_model() {
  for (size_t i = 0; i < masters_.size(); ++i) {
    Tensor& value = parameters_[i]->variable.mutable_value();
    if (!value.shares_storage(masters_[i]->value)) value.copy_from(masters_[i]->value);
  }
}

MasterWeights::InFp32::InFp32(MasterWeights& weights) {
  for (size_t i = 0; i < weights.masters_.size(); ++i) {
    Variable& variable = weights.parameters_[i]->variable;
    if (variable.value().shares_storage(weights.masters_[i]->value)) continue;
    halves_.emplace_back(weights.parameters_[i], variable);
    variable = Variable(weights.masters_[i]->value, variable.requires_grad());
  }
}

MasterWeights::InFp32::~InFp32() {
  for (auto& [parameter, half] : halves_) parameter->variable = half;
}

StateDict MasterWeights::state_dict() const {
  StateDict state = model_.state_dict();
  for (const auto& master : masters_) state.put(master->name, master->layout.to_reference(master->value));
  return state;
}

}  // namespace osprey
