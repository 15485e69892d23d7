#include <cmath>
#include <limits>

#include "core/config/config.h"
#include "core/config/config_value.h"
#include "core/config/scalar.h"

// ConfigNode::as<T>(), is<T>() and the checked reads.
namespace osprey {
namespace {

const ConfigValue* plain_scalar(const ConfigNode& node) {
  return node.is_scalar() && !node.value()->quoted ? node.value().get() : nullptr;
}

// `512.` is an integer too, `512.5` is not.
std::optional<int64_t> integral(const std::string& text) {
  if (const auto integer = parse_int(text)) return integer;
  const auto number = parse_double(text);
  const bool fits = number && std::floor(*number) == *number && std::abs(*number) < 0x1p63;
  return fits ? std::optional<int64_t>(static_cast<int64_t>(*number)) : std::nullopt;
}

// What the messages call each type, and how a node converts: nothing when it does not.
template <typename T>
struct Reader;

template <>
struct Reader<bool> {
  static constexpr const char* kName = "true or false";
  static std::optional<bool> read(const ConfigNode& node) {
    const ConfigValue* value = plain_scalar(node);
    return value ? parse_bool(value->text) : std::nullopt;
  }
};

template <>
struct Reader<int64_t> {
  static constexpr const char* kName = "an integer";
  static std::optional<int64_t> read(const ConfigNode& node) {
    const ConfigValue* value = plain_scalar(node);
    return value ? integral(value->text) : std::nullopt;
  }
};

template <>
struct Reader<int> {
  static constexpr const char* kName = "an integer of 32 bits";
  static std::optional<int> read(const ConfigNode& node) {
    const auto value = Reader<int64_t>::read(node);
    using Limits = std::numeric_limits<int>;
    if (!value || *value < Limits::min() || *value > Limits::max()) return std::nullopt;
    return static_cast<int>(*value);
  }
};

template <>
struct Reader<double> {
  static constexpr const char* kName = "a number";
  static std::optional<double> read(const ConfigNode& node) {
    const ConfigValue* value = plain_scalar(node);
    return value ? parse_double(value->text) : std::nullopt;
  }
};

template <>
struct Reader<float> {
  static constexpr const char* kName = "a number";
  static std::optional<float> read(const ConfigNode& node) {
    const auto value = Reader<double>::read(node);
    return value ? std::optional<float>(static_cast<float>(*value)) : std::nullopt;
  }
};

template <>
struct Reader<std::string> {
  static constexpr const char* kName = "a string";
  static std::optional<std::string> read(const ConfigNode& node) {
    const bool string = node.is_scalar() && (node.value()->quoted || is_string_text(node.value()->text));
    return string ? std::optional<std::string>(node.value()->text) : std::nullopt;
  }
};

// Some messages name the type that was wanted: a plain int is just "an integer" unless the number is too big.
template <typename T>
std::string expected(const ConfigNode& node) {
  if (std::is_same_v<T, int> && !Reader<int64_t>::read(node)) return Reader<int64_t>::kName;
  return Reader<T>::kName;
}

template <typename T>
struct Conversion {
  static bool possible(const ConfigNode& node) { return Reader<T>::read(node).has_value(); }
  static T convert(const ConfigNode& node) {
    const std::optional<T> value = Reader<T>::read(node);
    if (!value) node.fail("expected " + expected<T>(node) + ", got " + describe(*node.value()));
    return *value;
  }
};

template <typename T>
struct Conversion<std::vector<T>> {
  static bool possible(const ConfigNode& node) {
    if (!node.is_list()) return false;
    for (const ValuePtr& item : node.value()->items) {
      if (!Conversion<T>::possible(ConfigNode(item))) return false;
    }
    return true;
  }
  static std::vector<T> convert(const ConfigNode& node) {
    if (!node.is_list()) node.fail("expected a list, got " + describe(*node.value()));
    std::vector<T> values;
    for (const ConfigNode& item : node.items()) values.push_back(Conversion<T>::convert(item));
    return values;
  }
};

template <typename T>
void require(const ConfigNode& node, const T& value, const Constraint& constraint) {
  if (!constraint.holds(static_cast<double>(value)))
    node.fail(str_cat(constraint.description, ", got ", value));
}

template <typename T>
void require(const ConfigNode& list, const std::vector<T>& values, const Constraint& constraint) {
  if (values.empty()) list.fail("must not be an empty list; each element " + constraint.description);
  for (size_t i = 0; i < values.size(); ++i) require(list.at(i), values[i], constraint);
}

// For asked_keys(): the type in words, and a value as YAML.
template <typename T>
struct Words {
  static std::string type() { return Reader<T>::kName; }
  static std::string text(const T& value) {
    if constexpr (std::is_same_v<T, bool>) return value ? "true" : "false";
    if constexpr (std::is_same_v<T, std::string>) return string_yaml(value);
    return str_cat(value);
  }
};

template <>
struct Words<int> : Words<int64_t> {};

template <typename T>
struct Words<std::vector<T>> {
  static std::string type() { return "a list, each " + Words<T>::type(); }
  static std::string text(const std::vector<T>& values) {
    std::vector<std::string> items;
    for (const auto& value : values) items.push_back(Words<T>::text(value));
    return "[" + join(items) + "]";
  }
};

}  // namespace

template <typename T>
T ConfigNode::as() const {
  value_->marks->read = true;
  return Conversion<T>::convert(*this);
}

template <typename T>
T ConfigNode::as(const Constraint& constraint) const {
  T value = as<T>();
  require(*this, value, constraint);
  return value;
}

template <typename T>
bool ConfigNode::is() const {
  return Conversion<T>::possible(*this);
}

template <typename T>
void ConfigNode::note(const std::string& key, const T* fallback, const Constraint* constraint) const {
  const std::lock_guard lock(value_->marks->mutex);
  value_->marks->asked[key] = {key, Words<T>::type(), constraint ? constraint->description : "",
                               fallback ? Words<T>::text(*fallback) : ""};
}

#define OSPREY_CONFIG_READ(...)                             \
  template __VA_ARGS__ ConfigNode::as<__VA_ARGS__>() const; \
  template bool ConfigNode::is<__VA_ARGS__>() const;        \
  template void ConfigNode::note(const std::string&, const __VA_ARGS__*, const Constraint*) const
#define OSPREY_CONFIG_TYPE(T)         \
  OSPREY_CONFIG_READ(T);              \
  OSPREY_CONFIG_READ(std::vector<T>); \
  OSPREY_CONFIG_READ(std::vector<std::vector<T>>)
#define OSPREY_CONFIG_NUMBER(T)                          \
  OSPREY_CONFIG_TYPE(T);                                 \
  template T ConfigNode::as<T>(const Constraint&) const; \
  template std::vector<T> ConfigNode::as<std::vector<T>>(const Constraint&) const

OSPREY_CONFIG_TYPE(bool);
OSPREY_CONFIG_TYPE(std::string);
OSPREY_CONFIG_NUMBER(int);
OSPREY_CONFIG_NUMBER(int64_t);
OSPREY_CONFIG_NUMBER(double);
OSPREY_CONFIG_NUMBER(float);
#undef OSPREY_CONFIG_NUMBER
#undef OSPREY_CONFIG_TYPE
#undef OSPREY_CONFIG_READ

std::string ConfigNode::choice(const std::string& key, const std::string& fallback,
                               const std::vector<std::string>& allowed) const {
  note(key, fallback.empty() ? nullptr : &fallback, nullptr);
  {
    const std::lock_guard lock(value_->marks->mutex);
    value_->marks->asked[key].type = "one of " + join(allowed);
  }
  const ConfigNode node = find(key);
  if (node.is_null()) return fallback;
  const std::string value = node.as<std::string>();
  for (const std::string& word : allowed) {
    if (word == value) return value;
  }
  const std::string near = nearest_match(value, allowed);
  node.fail("must be one of " + join(allowed) + ", got '" + value + "'" +
            (near.empty() ? "" : ". Did you mean '" + near + "'?"));
}

Constraint finite() {
  return {[](double value) { return std::isfinite(value); }, "must be finite"};
}
Constraint positive() {
  return {[](double value) { return value > 0 && std::isfinite(value); }, "must be > 0"};
}
Constraint non_negative() { return at_least(0); }
Constraint at_least(double low) {
  return {[=](double value) { return value >= low && std::isfinite(value); }, str_cat("must be >= ", low)};
}
Constraint between(double low, double high) {
  return {[=](double value) { return value >= low && value <= high; },
          str_cat("must be in [", low, ", ", high, "]")};
}

}  // namespace osprey
