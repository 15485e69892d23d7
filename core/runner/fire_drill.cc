#include "core/runner/fire_drill.h"

#include <limits>

namespace osprey {
namespace {

bool inside(const std::string& path, const std::string& module) {
  return path == module || starts_with(path, module + ".");
}

void set_first_element(Tensor& tensor, double value) { tensor.reshape({-1}).slice(0, 1).fill(value); }

}  // namespace

FireDrill::FireDrill(const ConfigNode& debug) {
  if (debug.is_null()) return;
  const ConfigNode inject = debug.find("inject");
  if (inject.is_null()) return;
  for (const ConfigNode& item : inject.items()) {
    const ConfigNode value = item.find("value");
    faults_.push_back({item.get<std::string>("at"),
                       item.choice("phase", "backward", {"forward", "backward"}) == "backward",
                       item.get<int64_t>("iter", non_negative()),
                       value.is_null() ? std::numeric_limits<double>::infinity() : value.as<double>(),
                       str_cat("debug.inject[", faults_.size(), "]")});
  }
}

void FireDrill::check(Module& model) const {
  for (const Fault& fault : faults_) {
    std::vector<std::string> names;
    for (const auto& [path, module] : model.named_modules()) names.push_back(path);
    if (fault.backward) {
      for (const auto& [name, parameter] : model.named_parameters()) names.push_back(name);
    }
    bool known = false;
    for (const std::string& name : names) known = known || name == fault.at;
    if (known) continue;
    const std::string near = nearest_match(fault.at, names);
    throw UserError(str_cat(fault.origin, ".at: the model has no '", fault.at, "'",
                            near.empty() ? "" : ". Did you mean '" + near + "'?"));
  }
}

void FireDrill::begin(int64_t iter) {
  fired_.clear();
  for (Fault& fault : faults_) fault.due = fault.iter == iter;
}

bool FireDrill::armed() const {
  for (const Fault& fault : faults_) {
    if (fault.due) return true;
  }
  return false;
}

void FireDrill::poison(Fault& fault, Tensor value) {
  if (value.empty() || !is_floating(value.dtype())) return;
  set_first_element(value, fault.value);
  fault.due = false;
  fired_ = fault.origin;
}

void FireDrill::on_op(const OpEvent& event) {
  for (Fault& fault : faults_) {
    if (fault.due && fault.backward == event.backward && inside(event.module_path, fault.at))
      poison(fault, event.value);
  }
}

void FireDrill::poison_gradients(Module& model) {
  for (Fault& fault : faults_) {
    if (!fault.due || !fault.backward) continue;
    for (const auto& [name, parameter] : model.named_parameters()) {
      if (name != fault.at || !parameter->variable.grad().defined()) continue;
      Tensor grad = parameter->variable.grad().clone();  // its storage may serve another parameter too
      poison(fault, grad);
      parameter->variable.mutable_grad() = grad;
    }
  }
}

}  // namespace osprey
