#include "core/config/config_value.h"

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
