#pragma once

#include <optional>
#include <string>

#include "core/nn/module.h"

// Numbers and texts in a hook's state, beside its tensors: save_state(state) { put_number(state, "best", b);
// }
namespace osprey {

void put_number(StateDict& state, const std::string& name, double value);
void put_text(StateDict& state, const std::string& name, const std::string& text);
// Nothing when the state has no such entry.
std::optional<double> find_number(const StateDict& state, const std::string& name);
std::optional<std::string> find_text(const StateDict& state, const std::string& name);

// The hook's numbers and texts, as put above, for people who look into a checkpoint: "best = 0.381".
bool is_number(const Tensor& entry);
bool is_text(const Tensor& entry);

}  // namespace osprey
