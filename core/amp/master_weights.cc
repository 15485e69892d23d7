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

// The marks of all gradients are looked at together: on a GPU the host waits once.
std::vector<std::string> MasterWeights::take_grads(double loss_scale) {
  std::vector<std::string> bad;
  if (masters_.empty()) return bad;
  const float factor = static_cast<float>(1 / loss_scale);
  Tensor nonfinite =
      Tensor::zeros({static_cast<int64_t>(masters_.size())}, DType::kI32, masters_[0]->value.device());
  for (size_t i = 0; i < masters_.size(); ++i) {
    Variable& variable = parameters_[i]->variable;
    const Tensor grad = variable.grad();
    if (!grad.defined()) continue;
    variable.zero_grad();
    MasterParameter& master = *masters_[i];
    const bool accumulate = master.grad.defined();
    Tensor mark = nonfinite.slice(static_cast<int64_t>(i), static_cast<int64_t>(i) + 1);
    if (!accumulate && factor == 1 && grad.dtype() == DType::kF32) {
      master.grad = grad;  // nothing to convert
      mark_nonfinite(grad, mark);
    } else {
      add_grad(i, grad, factor, accumulate, mark);
    }
  }
  const std::vector<int32_t> marks = nonfinite.to_vector<int32_t>();
  for (size_t i = 0; i < masters_.size(); ++i) {
    if (marks[i] != 0) bad.push_back(masters_[i]->name);
  }
  return bad;
}

// Writes into a buffer that is kept between iterations: fresh memory for every gradient would cost more in
// page faults than the arithmetic.
void MasterWeights::add_grad(size_t i, const Tensor& grad, float factor, bool accumulate, Tensor& nonfinite) {
  MasterParameter& master = *masters_[i];
  Tensor& buffer = grad_buffers_[i];
  if (!buffer.defined()) buffer = Tensor(master.value.shape(), DType::kF32, master.value.device());
  if (accumulate && !master.grad.shares_storage(buffer)) buffer.copy_from(master.grad);
  unscale_kernel(grad.device(), grad, factor, accumulate, buffer, nonfinite);
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
