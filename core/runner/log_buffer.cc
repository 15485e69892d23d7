#include "core/runner/log_buffer.h"

namespace osprey {

void LogBuffer::append(const std::string& name, const Entry& entry) {
  auto [slot, added] = history_.try_emplace(name);
  if (added) names_.push_back(name);
  slot->second.push_back(entry);
}

void LogBuffer::stage(const std::string& name, double value, int64_t count) {
  staged_.push_back({name, {iter_, value, count}});
}

void LogBuffer::commit() {
  for (const Staged& staged : staged_) append(staged.name, staged.entry);
  staged_.clear();
}

void LogBuffer::put(const std::string& name, double value, int64_t count) {
  append(name, {iter_, value, count});
}

const double* LogBuffer::find_staged(const std::string& name) const {
  for (const Staged& staged : staged_) {
    if (staged.name == name) return &staged.entry.value;
  }
  return nullptr;
}

void LogBuffer::average(int64_t iters) {
  for (const std::string& name : names_) {
    double sum = 0;
    int64_t count = 0;
    const std::vector<Entry>& entries = history_.at(name);
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
      if (iters > 0 && entry->iter <= iter_ - iters) break;
      sum += entry->value * static_cast<double>(entry->count);
      count += entry->count;
    }
    if (count > 0) set_output(name, sum / static_cast<double>(count));
  }
  ready_ = true;
}

void LogBuffer::set_output(const std::string& name, double value) {
  for (auto& [known, slot] : output_) {
    if (known == name) {
      slot = value;
      return;
    }
  }
  output_.emplace_back(name, value);
}

const double* LogBuffer::find_output(const std::string& name) const {
  for (const auto& [known, value] : output_) {
    if (known == name) return &value;
  }
  return nullptr;
}

void LogBuffer::set_text(const std::string& name, const std::string& text) {
  texts_.emplace_back(name, text);
}

void LogBuffer::clear_output() {
  output_.clear();
  texts_.clear();
  ready_ = false;
}

void LogBuffer::clear() {
  names_.clear();
  history_.clear();
  clear_output();
}

}  // namespace osprey
