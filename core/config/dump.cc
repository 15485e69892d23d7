#include <algorithm>

#include "core/config/config.h"
#include "core/config/config_value.h"
#include "core/config/references.h"
#include "core/config/scalar.h"

// ConfigNode::to_yaml(): short maps and lists on one line, the rest as blocks.
namespace osprey {
namespace {

using Kind = ConfigValue::Kind;
constexpr size_t kWidth = 110;
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

// A pipeline, a list of heads: one element a line reads better, however short they are.
bool has_list_of_maps(const ConfigValue& value) {
  const auto below = [](const ValuePtr& child) { return has_list_of_maps(*child); };
  if (value.items.size() > 1 && map_depth(value) > 0) return true;
  return std::any_of(value.items.begin(), value.items.end(), below) ||
         std::any_of(value.entries.begin(), value.entries.end(),
                     [&](const ConfigEntry& entry) { return below(entry.value); });
}

bool fits_on_line(const ConfigValue& value, size_t column) {
  return map_depth(value) <= kMaxFlowMaps && !has_list_of_maps(value) &&
         column + flow(value).size() <= kWidth;
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

bool all_variables(const ConfigValue& value) {
  const auto below = [](const ValuePtr& child) { return all_variables(*child); };
  if (value.variable) return true;
  if (value.entries.empty() && value.items.empty()) return false;
  return std::all_of(value.items.begin(), value.items.end(), below) &&
         std::all_of(value.entries.begin(), value.entries.end(),
                     [&](const ConfigEntry& entry) { return below(entry.value); });
}

// Variables inside sections that builders have read, as far as that is known yet.
void list_unread_variables(const ConfigValue& value, const std::string& path,
                           std::vector<std::string>& names) {
  if (value.variable && !value.marks->read) {
    names.push_back(path);
  } else if (value.marks->read) {
    for (const ConfigEntry& entry : value.entries) {
      list_unread_variables(*entry.value, key_path(path, entry.key), names);
    }
    for (size_t i = 0; i < value.items.size(); ++i) {
      list_unread_variables(*value.items[i], key_path(path, std::to_string(i)), names);
    }
  }
}

// Dotted names of the values that only ${} or an alias used.
std::vector<std::string> variables_of(const ConfigValue& root) {
  std::vector<std::string> names;
  for (const ConfigEntry& entry : root.entries) {
    if (all_variables(*entry.value) && !entry.value->marks->read) {
      names.push_back(entry.key);
    } else {
      list_unread_variables(*entry.value, entry.key, names);
    }
  }
  return names;
}

}  // namespace

std::string ConfigNode::to_yaml() const {
  const bool collection = (is_map() && !value_->entries.empty()) || (is_list() && !value_->items.empty());
  if (!collection) return flow(*value_) + "\n";
  std::string out;
  block(*value_, 0, out);
  std::vector<std::string> names;
  if (value_->path.empty() && is_map()) names = variables_of(*value_);
  if (!names.empty()) out += "_variables_: [" + join(names) + "]\n";
  return out;
}

}  // namespace osprey
