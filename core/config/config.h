#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.h"

// A resolved YAML configuration. Every value remembers the file and line (or command-line override) it came
// from, and whether anybody read it: a key that no builder read is an error before training starts.
namespace osprey {

struct ConfigValue;  // the tree behind the handles

// Where a value was written: "configs/a.yaml:31:13" or "--cfg-options optimizer.lr=0.1".
struct ConfigOrigin {
  std::string file;  // or the override's text
  int line = 0;      // 1-based; 0 for overrides and built-in values
  int column = 0;
};

// An earlier or contributing value: what it was, and where it was written.
struct ConfigSource {
  std::string text;
  ConfigOrigin origin;
};

// A check of a number with its description, e.g. positive(): get("beta", 1.0, positive()).
struct Constraint {
  Constraint(std::function<bool(double)> test, std::string text)
      : holds(std::move(test)), description(std::move(text)) {}
  std::function<bool(double)> holds;
  std::string description;  // "must be > 0"
};
// All of these refuse infinity and NaN.
Constraint finite();
Constraint positive();
Constraint non_negative();
Constraint at_least(double low);
Constraint between(double low, double high);  // closed interval

// What a reader asked a map for.
struct ConfigKey {
  std::string name;
  std::string type;      // "a number"; "" when the reader took the node itself
  std::string allowed;   // "must be > 0", or ""
  std::string fallback;  // as YAML; "" when there is none
};

// A handle on one value of the tree; copying copies the handle. A default-constructed node is null.
class ConfigNode {
 public:
  ConfigNode();
  explicit ConfigNode(std::shared_ptr<ConfigValue> value);

  bool is_null() const;  // YAML null, or absent
  bool is_map() const;
  bool is_list() const;
  bool is_scalar() const;

  // --- Maps. Reading a key marks it (and, for as<T>(), everything below a scalar or list of scalars) as
  // read.
  bool has(const std::string& key) const;               // present, even when null; does not mark
  ConfigNode operator[](const std::string& key) const;  // marks; throws UserError when missing
  ConfigNode find(const std::string& key) const;        // marks; null node when missing
  std::vector<std::string> keys() const;                // in file order

  // Required value; throws UserError naming where, what was expected and what was found.
  // T: bool, int, int64_t, double, float, std::string, and std::vector of these (nested vectors too). An int
  // literal is a valid double; `512.` is a valid int64_t only when integral. A scalar is not a list. With a
  // constraint (numbers and lists of numbers) each number must satisfy it, and a list must not be empty.
  template <typename T>
  T get(const std::string& key) const {
    note<T>(key, nullptr, nullptr);
    return (*this)[key].as<T>();
  }
  template <typename T>
  T get(const std::string& key, const Constraint& constraint) const {
    note<T>(key, nullptr, &constraint);
    return (*this)[key].as<T>(constraint);
  }
  // The default applies when the key is missing or null.
  template <typename T>
  T get(const std::string& key, T fallback) const {
    note<T>(key, &fallback, nullptr);
    const ConfigNode node = find(key);
    return node.is_null() ? std::move(fallback) : node.as<T>();
  }
  template <typename T>
  T get(const std::string& key, T fallback, const Constraint& constraint) const {
    note<T>(key, &fallback, &constraint);
    const ConfigNode node = find(key);
    return node.is_null() ? std::move(fallback) : node.as<T>(constraint);
  }
  std::string get(const std::string& key, const char* fallback) const {
    return get<std::string>(key, fallback);
  }
  // One of `allowed`, with a nearest-match hint otherwise: cfg.choice("style", "pytorch", {"pytorch",
  // "caffe"}).
  std::string choice(const std::string& key, const std::string& fallback,
                     const std::vector<std::string>& allowed) const;

  // The value at "model.roi_head.bbox_head.0.num_classes"; does not mark. Throws UserError when missing.
  ConfigNode at_path(const std::string& dotted) const;

  // --- Lists.
  size_t size() const;                    // elements of a list, keys of a map
  ConfigNode at(size_t index) const;      // marks
  std::vector<ConfigNode> items() const;  // marks

  // --- Values.
  template <typename T>
  T as() const;
  template <typename T>
  T as(const Constraint& constraint) const;
  // Whether as<T>() would succeed, for keys that take several forms (`loss_scale: 512.` | dynamic | {...}).
  template <typename T>
  bool is() const;

  // Marks this value and everything below it as read (for parts that are handed on as text, like meta data).
  void mark_read() const;

  // --- Provenance and messages.
  std::string path() const;  // "model.roi_head.bbox_head[0].num_classes"; "" at the root
  const ConfigOrigin& origin() const;
  std::string where() const;  // "file:line:column: key.path", or the override's text
  // The values that this one replaced, the latest first, each with its place.
  std::vector<ConfigSource> overridden() const;
  // The ${keys} that the value was made from, with where they are set.
  std::vector<ConfigSource> references() const;
  // The keys that readers have asked this map for so far, present or not, by name.
  std::vector<ConfigKey> asked_keys() const;
  // Throws UserError "where(): message". For a value made from ${keys} it adds where those were set.
  [[noreturn]] void fail(const std::string& message) const;

  // --- Derived nodes. The copy shares nothing that can be written, but marks reach the original.
  // `cfg.with("train_cfg", node)` is how a parent hands a child a part of its own config, as mmdetection's
  // detectors do with train_cfg and test_cfg.
  ConfigNode with(const std::string& key, const ConfigNode& value) const;
  ConfigNode with(const std::string& key, const std::string& value) const;
  ConfigNode with(const std::string& key, const char* value) const;
  ConfigNode with(const std::string& key, const std::vector<std::string>& value) const;
  ConfigNode with(const std::string& key, double value) const;
  ConfigNode with(const std::string& key, int64_t value) const;
  ConfigNode with(const std::string& key, int value) const;
  ConfigNode with(const std::string& key, bool value) const;
  ConfigNode without(const std::string& key) const;

  // YAML text that loads back to the same values (strings that look like numbers stay quoted). At the root
  // `_variables_` names the keys that only ${} or an alias used, so that they count as read again.
  std::string to_yaml() const;

  const std::shared_ptr<ConfigValue>& value() const { return value_; }

 private:
  // Remembers for asked_keys() how `key` is about to be read.
  template <typename T>
  void note(const std::string& key, const T* fallback, const Constraint* constraint) const;

  std::shared_ptr<ConfigValue> value_;
};

// Loads a YAML file: resolves _base_ (relative to the file; cycles are errors), merges, applies `_delete_`,
// `_each_`, index keys over lists, `<<`, then the overrides ("a.b=1", "c.0.d=x"), then ${other.key}. All
// errors are UserError with file:line. docs/config.md describes the language.
ConfigNode load_config(const std::string& path, const std::vector<std::string>& overrides = {});
// The same from text; `name` stands for the file name in messages, `_base_` is resolved relative to the
// working directory.
ConfigNode parse_config(const std::string& text, const std::string& name = "<text>",
                        const std::vector<std::string>& overrides = {});

// A message of one of these errors, with the lines of the files that it names below it:
//   x.yaml:31:13: model.loss_cls.type: unknown loss 'FocalLos'; registered: ...
//      31 |       type: FocalLos
std::string with_source_lines(const std::string& message);

// Throws UserError listing every key that was never read, one line each with file:line, path and the nearest
// key that its reader did ask for. Call it when everything is built.
void require_all_read(const ConfigNode& root);

}  // namespace osprey
