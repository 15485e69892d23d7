#include "core/runner/hook_state.h"

#include <vector>

namespace osprey {

void put_number(StateDict& state, const std::string& name, double value) {
  state.put(name, Tensor::from<double>({value}, {}));
}

void put_text(StateDict& state, const std::string& name, const std::string& text) {
  const std::vector<uint8_t> bytes(text.begin(), text.end());
  state.put(name, Tensor::from<uint8_t>(bytes, {static_cast<int64_t>(bytes.size())}));
}

std::optional<double> find_number(const StateDict& state, const std::string& name) {
  const Tensor* entry = state.find(name);
  return entry ? std::optional<double>(entry->item()) : std::nullopt;
}

std::optional<std::string> find_text(const StateDict& state, const std::string& name) {
  const Tensor* entry = state.find(name);
  if (entry == nullptr) return std::nullopt;
  const auto bytes = entry->to_vector<uint8_t>();
  return std::string(bytes.begin(), bytes.end());
}

bool is_number(const Tensor& entry) { return entry.dtype() == DType::kF64 && entry.rank() == 0; }
bool is_text(const Tensor& entry) { return entry.dtype() == DType::kU8 && entry.rank() == 1; }

}  // namespace osprey
