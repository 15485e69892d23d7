#include <algorithm>

#include "core/config/config.h"
#include "core/config/config_value.h"

namespace osprey {
namespace {

bool holds_variable(const ConfigValue& value) {
  if (value.variable) return true;
  const auto below = [](const auto& child) { return holds_variable(*child); };
  return std::any_of(value.items.begin(), value.items.end(), below) ||
         std::any_of(value.entries.begin(), value.entries.end(),
                     [&](const ConfigEntry& e) { return below(e.value); });
}

// "unknown key of ResNet, which reads depth, style, type. Did you mean 'style'?"
std::string unknown_key(const ConfigValue& map, const std::string& key) {
  std::vector<std::string> asked;
  {
    const std::lock_guard lock(map.marks->mutex);
    for (const auto& [name, how] : map.marks->asked) asked.push_back(name);
  }
  if (asked.empty()) return "unknown key: nothing reads this section";
  std::vector<std::string> missing;  // the likelier ones: a key that is there already is seldom meant
  std::copy_if(asked.begin(), asked.end(), std::back_inserter(missing),
               [&](const std::string& name) { return !map.find(name); });
  std::string near = nearest_match(key, missing);
  if (near.empty()) near = nearest_match(key, asked);
  const ConfigEntry* type = map.find("type");
  const std::string owner = type ? " of " + type->value->text + ", which reads " : "; known here: ";
  return "unknown key" + owner + join(asked) + (near.empty() ? "" : ". Did you mean '" + near + "'?");
}

void report(const ConfigOrigin& origin, const std::string& path, const std::string& message,
            std::string& out) {
  out += (out.empty() ? "" : "\n") + to_string(origin) + ": " + path + ": " + message;
}

void find_unread(const ConfigValue& value, std::string& out) {
  // Nobody needs to read what a reference or an alias has used.
  const auto settled = [](const ConfigValue& child) { return child.variable && !child.marks->read; };
  const auto enter = [](const ConfigValue& child) { return child.marks->read || holds_variable(child); };
  for (const ConfigEntry& entry : value.entries) {
    if (settled(*entry.value)) continue;
    if (enter(*entry.value)) {
      find_unread(*entry.value, out);
    } else {
      report(entry.origin, entry.value->path, unknown_key(value, entry.key), out);
    }
  }
  for (const ValuePtr& item : value.items) {
    if (settled(*item)) continue;
    if (enter(*item)) {
      find_unread(*item, out);
    } else {
      report(item->origin, item->path, "nothing reads this element", out);
    }
  }
}

}  // namespace

void require_all_read(const ConfigNode& root) {
  std::string unread;
  find_unread(*root.value(), unread);
  if (!unread.empty()) throw UserError(unread);
}

}  // namespace osprey
