#include "core/nn/module.h"

#include <set>

#include "core/base/strings.h"
#include "core/nn/derived_state.h"

namespace osprey {

void StateDict::put(const std::string& name, Tensor tensor) {
  const auto [slot, added] = index_.emplace(name, entries_.size());
  if (added) {
    entries_.emplace_back(name, std::move(tensor));
  } else {
    entries_[slot->second].second = std::move(tensor);
  }
}

const Tensor* StateDict::find(const std::string& name) const {
  const auto slot = index_.find(name);
  return slot == index_.end() ? nullptr : &entries_[slot->second].second;
}

template <typename Visit>
void Module::visit(const std::string& prefix, const Visit& visitor) {
  visitor(prefix, *this);
  for (const auto& [name, child] : children_)
    child->visit(prefix.empty() ? name : prefix + "." + name, visitor);
}

void Module::init_weights(uint64_t seed) {
  for (const auto& [name, child] : children_) child->init_weights(seed);
}

void Module::train(bool on) {
  training_ = on;
  for (const auto& [name, child] : children_) child->train(on);
}

void Module::assign_paths(const std::string& prefix) {
  visit(prefix, [](const std::string& path, Module& module) { module.path_ = path; });
}

std::vector<std::pair<std::string, Parameter*>> Module::named_parameters() {
  std::vector<std::pair<std::string, Parameter*>> named;
  visit("", [&](const std::string& path, Module& module) {
    for (const auto& [name, parameter] : module.parameters_) {
      named.emplace_back(path.empty() ? name : path + "." + name, parameter.get());
    }
  });
  return named;
}

std::vector<std::pair<std::string, Buffer*>> Module::named_buffers() {
  std::vector<std::pair<std::string, Buffer*>> named;
  visit("", [&](const std::string& path, Module& module) {
    for (const auto& [name, buffer] : module.buffers_) {
      named.emplace_back(path.empty() ? name : path + "." + name, buffer.get());
    }
  });
  return named;
}

std::vector<std::pair<std::string, Module*>> Module::named_modules() {
  std::vector<std::pair<std::string, Module*>> named;
  visit("", [&](const std::string& path, Module& module) { named.emplace_back(path, &module); });
  return named;
}

StateDict Module::state_dict() {
  StateDict state;
  visit("", [&](const std::string& path, Module& module) {
    const std::string prefix = path.empty() ? "" : path + ".";
    for (const auto& [name, parameter] : module.parameters_) {
      state.put(prefix + name, parameter->layout.to_reference(parameter->variable.value()));
    }
    for (const auto& [name, buffer] : module.buffers_) state.put(prefix + name, buffer->value);
  });
  return state;
}

LoadReport Module::load_state_dict(const StateDict& given) {
  StateDict state = given;
  visit("", [&](const std::string& path, Module& module) {
    const auto* upgrade = dynamic_cast<const StateUpgrade*>(&module);
    if (upgrade) upgrade->upgrade_state(path.empty() ? "" : path + ".", state);
  });
  LoadReport report;
  std::map<std::string, bool> used;
  // The entry for `name` in the wanted shape; undefined, and noted, when there is none that fits. Files
  // without scalars store them as (1).
  const auto matching = [&](const std::string& name, const Shape& shape) -> Tensor {
    const Tensor* entry = state.find(name);
    if (entry == nullptr) {
      report.missing.push_back(name);
      return {};
    }
    used[name] = true;
    const bool scalar = shape.empty() && entry->numel() == 1;
    if (entry->shape() != shape && !scalar) {
      report.mismatched.push_back(str_cat(name, ": shape ", to_string(entry->shape()), " in the checkpoint, ",
                                          to_string(shape), " in the model"));
      return {};
    }
    return entry->reshape(shape);
  };
  for (const auto& [name, parameter] : named_parameters()) {
    Tensor& value = parameter->variable.mutable_value();
    const Shape reference_shape = parameter->layout.to_reference(value).shape();
    const Tensor entry = matching(name, reference_shape);
    if (entry.defined()) value.copy_from(parameter->layout.from_reference(entry).to(value.device()));
  }
  for (const auto& [name, buffer] : named_buffers()) {
    const Tensor entry = matching(name, buffer->value.shape());
    if (!entry.defined()) continue;
    buffer->value.copy_from(entry.to(buffer->value.device()));
    buffer->staged = Tensor();
  }
  for (const auto& [name, tensor] : state.entries()) {
    if (!used.count(name)) report.unexpected.push_back(name);
  }
  return report;
}

void Module::convert_precision(DType dtype, const std::vector<std::string>& keep_fp32) {
  std::set<std::string> unmatched(keep_fp32.begin(), keep_fp32.end());
  visit("", [&](const std::string& path, Module& module) {
    bool keep = module.keeps_fp32();
    // "teacher" keeps everything below teacher too.
    for (const std::string& glob : keep_fp32) {
      if (!glob_match(glob, path) && !glob_match(glob + ".*", path)) continue;
      keep = true;
      unmatched.erase(glob);
    }
    for (const auto& [name, parameter] : module.parameters_) {
      const DType target = keep ? DType::kF32 : dtype;
      if (parameter->variable.dtype() == target) continue;
      parameter->variable = Variable(parameter->variable.value().to(target), parameter->requires_grad());
    }
  });
  if (!unmatched.empty()) throw UserError("keep_fp32: no part of the model is called " + join(unmatched));
}

void Module::commit_buffers() {
  for (const auto& [name, buffer] : named_buffers()) {
    if (buffer->staged.defined()) buffer->value = std::exchange(buffer->staged, Tensor());
  }
}

void Module::discard_buffers() {
  for (const auto& [name, buffer] : named_buffers()) buffer->staged = Tensor();
}

void Module::to(Device device) {
  for (const auto& [name, parameter] : named_parameters()) {
    parameter->variable.zero_grad();
    Tensor& value = parameter->variable.mutable_value();
    value = value.to(device);
  }
  for (const auto& [name, buffer] : named_buffers()) {
    if (!is_floating(buffer->value.dtype())) continue;
    buffer->value = buffer->value.to(device);
    if (buffer->staged.defined()) buffer->staged = buffer->staged.to(device);
  }
}

Device Module::device() {
  const auto parameters = named_parameters();
  return parameters.empty() ? kCPU : parameters.front().second->variable.device();
}

void Module::set_requires_grad(bool on) {
  for (const auto& [name, parameter] : named_parameters()) parameter->variable.set_requires_grad(on);
}

void Module::zero_grad() {
  for (const auto& [name, parameter] : named_parameters()) parameter->variable.zero_grad();
}

Parameter* Module::add_parameter(const std::string& name, Tensor value, WeightLayout layout) {
  parameters_.emplace_back(name,
                           std::make_unique<Parameter>(Parameter{Variable(std::move(value), true), layout}));
  return parameters_.back().second.get();
}

Buffer* Module::add_buffer(const std::string& name, Tensor value) {
  buffers_.emplace_back(name, std::make_unique<Buffer>(Buffer{std::move(value), Tensor()}));
  return buffers_.back().second.get();
}

}  // namespace osprey
