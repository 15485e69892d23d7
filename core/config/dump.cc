#include <algorithm>

#include "core/config/config.h"
#include "core/config/config_value.h"
#include "core/config/references.h"
#include "core/config/scalar.h"

// ConfigNode::to_yaml(): short maps and lists on one line, the rest as blocks.
namespace osprey {
namespace {

using Kind = ConfigValue::Kind;
constexpr size_t kWidth = 100;
constexpr int kMaxFlowMaps = 2;  // maps inside one another on one line

std::string scalar_yaml(const ConfigValue& value) {
  if (value.kind == Kind::kNull) return "null";
  const bool string = value.quoted || is_string_text(value.text);
  return string ? string_yaml(escape_references(value.text)) : value.text;
}

int map_depth(const ConfigValue& value) {
  int depth = 0;
  for (const ConfigEntry& entry : value.entries) depth = std::max(depth, map_depth(*entry.value));
  for (const ValuePtr& item : value.items) depth = std::max(depth, map_depth(*item));
  return depth + (value.kind == Kind::kMap ? 1 : 0);
}

std::string flow(const ConfigValue& value) {
  std::vector<std::string> parts;
  if (value.kind == Kind::kMap) {
    for (const ConfigEntry& entry : value.entries)
      parts.push_back(string_yaml(entry.key) + ": " + flow(*entry.value));
    return "{" + join(parts) + "}";
  }
  if (value.kind == Kind::kList) {
    for (const ValuePtr& item : value.items) parts.push_back(flow(*item));
    return "[" + join(parts) + "]";
  }
  return scalar_yaml(value);
}

bool fits_on_line(const ConfigValue& value, size_t column) {
  const bool list_of_maps = value.kind == Kind::kList && map_depth(value) > 0 && value.items.size() > 1;
  return map_depth(value) <= kMaxFlowMaps && !list_of_maps && column + flow(value).size() <= kWidth;
}

void block(const ConfigValue& value, size_t indent, std::string& out);

// The value after "key:" or "-", which stand at `indent`.
void after(const std::string& lead, const ConfigValue& value, size_t indent, std::string& out) {
  const bool item = lead == "-";
  const bool empty = value.entries.empty() && value.items.empty();
  if (empty || fits_on_line(value, indent + lead.size() + 1)) {
    out += lead + " " + flow(value) + "\n";
  } else if (item) {  // "- key: value", the further keys below the first
    std::string inner;
    block(value, indent + 2, inner);
    out += "- " + inner.substr(indent + 2);
  } else {
    out += lead + "\n";
    block(value, indent + 2, out);
  }
}

void block(const ConfigValue& value, size_t indent, std::string& out) {
  const std::string space(indent, ' ');
  for (const ConfigEntry& entry : value.entries) {
    out += space;
    after(string_yaml(entry.key) + ":", *entry.value, indent, out);
  }
  for (const ValuePtr& item : value.items) {
    out += space;
    after("-", *item, indent, out);
  }
}

// Dotted names of the values that ${} or an alias used.
void list_variables(const ConfigValue& value, const std::string& path, std::vector<std::string>& names) {
  if (value.variable) names.push_back(path);
  for (const ConfigEntry& entry : value.entries)
    list_variables(*entry.value, key_path(path, entry.key), names);
  for (size_t i = 0; i < value.items.size(); ++i)
    list_variables(*value.items[i], key_path(path, std::to_string(i)), names);
}

}  // namespace

std::string ConfigNode::to_yaml() const {
  const bool collection = (is_map() && !value_->entries.empty()) || (is_list() && !value_->items.empty());
  if (!collection) return flow(*value_) + "\n";
  std::string out;
  block(*value_, 0, out);
  std::vector<std::string> names;
  if (value_->path.empty() && is_map()) list_variables(*value_, "", names);
  if (!names.empty()) out += "_variables_: [" + join(names) + "]\n";
  return out;
}

}  // namespace osprey
