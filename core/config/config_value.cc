#include "core/config/config_value.h"

#include <algorithm>
#include <utility>

namespace osprey {

const ConfigEntry* ConfigValue::find(const std::string& key) const {
  for (const ConfigEntry& entry : entries) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

ConfigEntry* ConfigValue::find(const std::string& key) {
  return const_cast<ConfigEntry*>(std::as_const(*this).find(key));
}

ValuePtr ConfigValue::clone() const {
  auto copy = std::make_shared<ConfigValue>(*this);
  copy->marks = std::make_shared<ConfigMarks>();
  copy->variable = false;
  for (ConfigEntry& entry : copy->entries) entry.value = entry.value->clone();
  for (ValuePtr& item : copy->items) item = item->clone();
  return copy;
}

ValuePtr make_scalar(const std::string& text, bool quoted, const ConfigOrigin& origin) {
  auto value = std::make_shared<ConfigValue>();
  value->kind = ConfigValue::Kind::kScalar;
  value->text = text;
  value->quoted = quoted;
  value->origin = origin;
  return value;
}

std::string to_string(const ConfigOrigin& origin) {
  if (origin.line == 0) return origin.file;
  return str_cat(origin.file, ":", origin.line, ":", origin.column);
}

void fail_at(const ConfigOrigin& origin, const std::string& path, const std::string& message) {
  std::string where = to_string(origin);
  if (!path.empty()) where += where.empty() ? path : ": " + path;
  throw UserError(where.empty() ? message : where + ": " + message);
}

int64_t list_index(const std::string& key) {
  const bool digits = !key.empty() && key.size() < 10 &&
                      std::all_of(key.begin(), key.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits ? std::stoll(key) : -1;
}

ValuePtr child_of(const ConfigValue& value, const std::string& key) {
  if (const ConfigEntry* entry = value.find(key)) return entry->value;
  const int64_t index = list_index(key);
  const bool element = index >= 0 && static_cast<size_t>(index) < value.items.size();
  return element ? value.items[static_cast<size_t>(index)] : nullptr;
}

ValuePtr find_path(const ValuePtr& root, const std::string& dotted) {
  ValuePtr value = root;
  for (const std::string& key : split(dotted, '.')) {
    value = child_of(*value, key);
    if (!value) return nullptr;
  }
  return value;
}

std::string key_path(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

std::string index_path(const std::string& path, size_t index) { return str_cat(path, "[", index, "]"); }

void assign_paths(ConfigValue& value, const std::string& path) {
  value.path = path;
  for (ConfigEntry& entry : value.entries) assign_paths(*entry.value, key_path(path, entry.key));
  for (size_t i = 0; i < value.items.size(); ++i) assign_paths(*value.items[i], index_path(path, i));
}

}  // namespace osprey
