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
  keep_fp32_ = keep_fp32;
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
  const Tensor marks = start_taking_grads(loss_scale);
  return nonfinite_grads(marks.defined() ? marks.to_vector<int32_t>() : std::vector<int32_t>());
}

Tensor MasterWeights::start_taking_grads(double loss_scale) {
  if (masters_.empty()) return {};
  const float factor = static_cast<float>(1 / loss_scale);
  const Device device = masters_[0]->value.device();
  const Tensor marks = Tensor::zeros({static_cast<int64_t>(masters_.size())}, DType::kI32, device);
  std::vector<UnscaleJob> jobs;
  for (size_t i = 0; i < masters_.size(); ++i) {
    Variable& variable = parameters_[i]->variable;
    const Tensor grad = variable.grad();
    if (!grad.defined()) continue;
    variable.zero_grad();
    const auto row = static_cast<int64_t>(i);
    jobs.push_back(take_grad(i, grad, factor, marks.slice(row, row + 1)));
  }
  if (!jobs.empty()) unscale_kernel(device, jobs, factor);
  return marks;
}

std::vector<std::string> MasterWeights::nonfinite_grads(const std::vector<int32_t>& marks) const {
  std::vector<std::string> bad;
  for (size_t i = 0; i < marks.size(); ++i) {
    if (marks[i] != 0) bad.push_back(masters_[i]->name);
  }
  return bad;
}

// Into a buffer that is kept between iterations: fresh memory for every gradient would cost more in page
// faults than the arithmetic.
UnscaleJob MasterWeights::take_grad(size_t i, const Tensor& grad, float factor, const Tensor& mark) {
  MasterParameter& master = *masters_[i];
  const bool accumulate = master.grad.defined();
  if (!accumulate && factor == 1 && grad.dtype() == DType::kF32) {  // nothing to convert
    master.grad = grad;
    return {grad, {}, false, mark};
  }
  Tensor& buffer = grad_buffers_[i];
  if (!buffer.defined()) buffer = Tensor(master.value.shape(), DType::kF32, master.value.device());
  if (accumulate && !master.grad.shares_storage(buffer)) buffer.copy_from(master.grad);
  master.grad = buffer;
  return {grad, buffer, accumulate, mark};
}

void MasterWeights::drop_grads() {
  for (const auto& master : masters_) master->grad = Tensor();
  for (Parameter* parameter : parameters_) parameter->variable.zero_grad();
}

void MasterWeights::copy_to_model() {
  std::vector<RoundJob> on_device;
  for (size_t i = 0; i < masters_.size(); ++i) {
    Tensor& value = parameters_[i]->variable.mutable_value();
    const Tensor& master = masters_[i]->value;
    if (value.shares_storage(master)) continue;
    if (value.device().is_cuda() && is_half(value.dtype()) && value.device() == master.device()) {
      on_device.push_back({master, value});
    } else {
      value.copy_from(master);
    }
  }
  if (!on_device.empty()) round_masters_kernel(on_device.front().master.device(), on_device);
}

MasterWeights::InFp32::InFp32(MasterWeights& weights,
                              const std::function<bool(const std::string& name)>& chosen) {
  for (size_t i = 0; i < weights.masters_.size(); ++i) {
    if (chosen && !chosen(weights.masters_[i]->name)) continue;
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
