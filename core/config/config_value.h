#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/config/config.h"

// The tree behind ConfigNode; internal to core/config. After load_config() nothing changes but the marks.
namespace osprey {

using ValuePtr = std::shared_ptr<ConfigValue>;

// What happened to a value since it was loaded. Shared by a value and the copies that with() and without()
// derive from it.
struct ConfigMarks {
  std::atomic<bool> read{false};
  std::mutex mutex;                        // guards asked
  std::map<std::string, ConfigKey> asked;  // what readers looked for in this map, present or not
};

struct ConfigEntry {
  std::string key;
  ConfigOrigin origin;  // of the key
  ValuePtr value;
};

struct ConfigValue {
  enum class Kind { kNull, kScalar, kMap, kList };

  Kind kind = Kind::kNull;
  std::string text;                  // scalars: as written, without quotes
  bool quoted = false;               // scalars: a string, whatever the text looks like
  std::vector<ConfigEntry> entries;  // maps, in file order
  std::vector<ValuePtr> items;       // lists

  ConfigOrigin origin;
  std::string path;
  std::vector<ConfigSource> overridden;  // what this value replaced, the latest first
  std::vector<ConfigSource> references;  // the ${keys} it was made from, with their origins
  std::vector<ValuePtr> pending;         // edits that wait until this "${key}" is resolved
  bool variable = false;                 // an alias or ${} uses it: nobody else needs to read it
  std::shared_ptr<ConfigMarks> marks = std::make_shared<ConfigMarks>();

  ConfigEntry* find(const std::string& key);
  const ConfigEntry* find(const std::string& key) const;
  // A deep copy with marks of its own.
  ValuePtr clone() const;
};

ValuePtr make_scalar(const std::string& text, bool quoted, const ConfigOrigin& origin);

// "file:31:13", or the override's text.
std::string to_string(const ConfigOrigin& origin);
// "origin: path: message".
[[noreturn]] void fail_at(const ConfigOrigin& origin, const std::string& path, const std::string& message);

// The list index that `key` spells, or -1.
int64_t list_index(const std::string& key);
// The value of a key of a map or of an element of a list, or null.
ValuePtr child_of(const ConfigValue& value, const std::string& key);
// The value at "a.b.0.c", or null.
ValuePtr find_path(const ValuePtr& root, const std::string& dotted);

// Paths as messages show them: "a.b", "a[3]".
std::string key_path(const std::string& path, const std::string& key);
std::string index_path(const std::string& path, size_t index);
// Sets the path of everything below `value`.
void assign_paths(ConfigValue& value, const std::string& path);

}  // namespace osprey
