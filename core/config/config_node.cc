#include <algorithm>

#include "core/config/config.h"
#include "core/config/config_value.h"
#include "core/config/scalar.h"

namespace osprey {
namespace {

const ValuePtr& null_value() {
  static const ValuePtr value = std::make_shared<ConfigValue>();
  return value;
}

void require_map(const ConfigNode& node) {
  if (!node.is_map()) node.fail("expected a map (key: value), got " + describe(*node.value()));
}

void require_list(const ConfigNode& node) {
  if (!node.is_list()) node.fail("expected a list, got " + describe(*node.value()));
}

void mark_deep(const ConfigValue& value) {
  value.marks->read = true;
  for (const ConfigEntry& entry : value.entries) mark_deep(*entry.value);
  for (const ValuePtr& item : value.items) mark_deep(*item);
}

void remember_asked(const ConfigValue& map, const std::string& key) {
  const std::lock_guard lock(map.marks->mutex);
  map.marks->asked.emplace(key, ConfigKey{key, "", "", ""});
}

// Stands for a key that is not there, so that its reader can still say where it was missed.
ConfigNode absent(const ConfigValue& parent, const std::string& key) {
  auto value = std::make_shared<ConfigValue>();
  value->origin = parent.origin;
  value->path = key_path(parent.path, key);
  return ConfigNode(value);
}

// A key of the map that nobody has read and that may be a misspelling of `key`.
std::string misspelt_key(const ConfigValue& map, const std::string& key) {
  std::vector<std::string> unread;
  for (const ConfigEntry& entry : map.entries) {
    if (!entry.value->marks->read) unread.push_back(entry.key);
  }
  return nearest_match(key, unread);
}

}  // namespace

ConfigNode::ConfigNode() : value_(null_value()) {}
ConfigNode::ConfigNode(std::shared_ptr<ConfigValue> value) : value_(std::move(value)) {}

bool ConfigNode::is_null() const { return value_->kind == ConfigValue::Kind::kNull; }
bool ConfigNode::is_map() const { return value_->kind == ConfigValue::Kind::kMap; }
bool ConfigNode::is_list() const { return value_->kind == ConfigValue::Kind::kList; }
bool ConfigNode::is_scalar() const { return value_->kind == ConfigValue::Kind::kScalar; }

bool ConfigNode::has(const std::string& key) const {
  if (is_null()) return false;
  require_map(*this);
  remember_asked(*value_, key);
  return value_->find(key) != nullptr;
}

ConfigNode ConfigNode::find(const std::string& key) const {
  if (!has(key)) return absent(*value_, key);
  const ValuePtr& child = value_->find(key)->value;
  child->marks->read = true;
  return ConfigNode(child);
}

ConfigNode ConfigNode::operator[](const std::string& key) const {
  if (has(key)) return find(key);
  const std::string near = is_null() ? "" : misspelt_key(*value_, key);
  fail("missing key '" + key + "'" + (near.empty() ? "" : ". Is '" + near + "' a misspelling of it?"));
}

ConfigNode ConfigNode::at_path(const std::string& dotted) const {
  ConfigNode node = *this;
  for (const std::string& key : split(dotted, '.')) {
    const ValuePtr child = child_of(*node.value_, key);
    if (!child) {
      const std::string near = nearest_match(key, node.is_map() ? node.keys() : std::vector<std::string>{});
      fail_at({}, "",
              "there is no key '" + dotted + "': " + (node.path().empty() ? "the config" : node.path()) +
                  " has no '" + key + "'" + (near.empty() ? "" : ". Did you mean '" + near + "'?"));
    }
    node = ConfigNode(child);
  }
  return node;
}

std::vector<std::string> ConfigNode::keys() const {
  std::vector<std::string> names;
  if (!is_null()) require_map(*this);
  for (const ConfigEntry& entry : value_->entries) names.push_back(entry.key);
  return names;
}

size_t ConfigNode::size() const {
  if (is_scalar()) require_list(*this);
  return is_map() ? value_->entries.size() : value_->items.size();
}

ConfigNode ConfigNode::at(size_t index) const {
  require_list(*this);
  if (index >= value_->items.size())
    fail(str_cat("no element ", index, " in a list of ", value_->items.size()));
  const ValuePtr& item = value_->items[index];
  item->marks->read = true;
  return ConfigNode(item);
}

std::vector<ConfigNode> ConfigNode::items() const {
  if (is_null()) return {};
  require_list(*this);
  std::vector<ConfigNode> nodes;
  for (size_t i = 0; i < size(); ++i) nodes.push_back(at(i));
  return nodes;
}

void ConfigNode::mark_read() const { mark_deep(*value_); }

std::string ConfigNode::path() const { return value_->path; }
const ConfigOrigin& ConfigNode::origin() const { return value_->origin; }
std::vector<ConfigSource> ConfigNode::overridden() const { return value_->overridden; }

std::vector<ConfigSource> ConfigNode::references() const { return value_->references; }

std::vector<ConfigKey> ConfigNode::asked_keys() const {
  const std::lock_guard lock(value_->marks->mutex);
  std::vector<ConfigKey> keys;
  for (const auto& [name, key] : value_->marks->asked) keys.push_back(key);
  return keys;
}

std::string ConfigNode::where() const {
  const std::string place = to_string(value_->origin);
  if (value_->path.empty()) return place;
  return place.empty() ? value_->path : place + ": " + value_->path;
}

void ConfigNode::fail(const std::string& message) const {
  std::string sources;
  for (const ConfigSource& source : value_->references) {
    sources += str_cat(sources.empty() ? " (" : "; ", source.text, " is set in ", to_string(source.origin));
  }
  fail_at(value_->origin, value_->path, message + sources + (sources.empty() ? "" : ")"));
}

ConfigNode ConfigNode::with(const std::string& key, const ConfigNode& value) const {
  if (!is_null()) require_map(*this);
  auto copy = std::make_shared<ConfigValue>(*value_);  // shares the children and the marks
  copy->kind = ConfigValue::Kind::kMap;
  if (ConfigEntry* entry = copy->find(key)) {
    entry->value = value.value();
  } else {
    copy->entries.push_back({key, value.origin(), value.value()});
  }
  return ConfigNode(copy);
}

namespace {

ConfigNode with_scalar(const ConfigNode& map, const std::string& key, const std::string& text, bool quoted) {
  const ValuePtr value = make_scalar(text, quoted, map.origin());
  value->path = key_path(map.path(), key);
  value->marks->read = true;  // nobody wrote it, so nobody needs to be told that it has no reader
  return map.with(key, ConfigNode(value));
}

}  // namespace

ConfigNode ConfigNode::with(const std::string& key, const std::string& value) const {
  return with_scalar(*this, key, value, true);
}
ConfigNode ConfigNode::with(const std::string& key, const char* value) const {
  return with(key, std::string(value));
}
ConfigNode ConfigNode::with(const std::string& key, const std::vector<std::string>& value) const {
  auto list = std::make_shared<ConfigValue>();
  list->kind = ConfigValue::Kind::kList;
  list->origin = origin();
  for (const std::string& text : value) list->items.push_back(make_scalar(text, true, origin()));
  assign_paths(*list, key_path(path(), key));
  list->marks->read = true;
  for (const ValuePtr& item : list->items) item->marks->read = true;
  return with(key, ConfigNode(list));
}
ConfigNode ConfigNode::with(const std::string& key, double value) const {
  return with_scalar(*this, key, double_text(value), false);
}
ConfigNode ConfigNode::with(const std::string& key, int64_t value) const {
  return with_scalar(*this, key, std::to_string(value), false);
}
ConfigNode ConfigNode::with(const std::string& key, int value) const { return with(key, int64_t{value}); }
ConfigNode ConfigNode::with(const std::string& key, bool value) const {
  return with_scalar(*this, key, value ? "true" : "false", false);
}

ConfigNode ConfigNode::without(const std::string& key) const {
  if (!is_null()) require_map(*this);
  auto copy = std::make_shared<ConfigValue>(*value_);
  std::erase_if(copy->entries, [&](const ConfigEntry& entry) { return entry.key == key; });
  return ConfigNode(copy);
}

}  // namespace osprey
