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
T checked(const ConfigNode& map, const std::string& key, T fallback, const Constraint& constraint) {
  const T value = map.get<T>(key, fallback);
  if (!constraint.holds(static_cast<double>(value))) {
    map.find(key).fail(str_cat(constraint.description, ", got ", value));
  }
  return value;
}

}  // namespace

template <typename T>
T ConfigNode::as() const {
  value_->marks->read = true;
  return Conversion<T>::convert(*this);
}

template <typename T>
bool ConfigNode::is() const {
  return Conversion<T>::possible(*this);
}

#define OSPREY_CONFIG_TYPE(T)                                                               \
  template T ConfigNode::as<T>() const;                                                     \
  template bool ConfigNode::is<T>() const;                                                  \
  template std::vector<T> ConfigNode::as<std::vector<T>>() const;                           \
  template bool ConfigNode::is<std::vector<T>>() const;                                     \
  template std::vector<std::vector<T>> ConfigNode::as<std::vector<std::vector<T>>>() const; \
  template bool ConfigNode::is<std::vector<std::vector<T>>>() const

OSPREY_CONFIG_TYPE(bool);
OSPREY_CONFIG_TYPE(int);
OSPREY_CONFIG_TYPE(int64_t);
OSPREY_CONFIG_TYPE(double);
OSPREY_CONFIG_TYPE(float);
OSPREY_CONFIG_TYPE(std::string);
#undef OSPREY_CONFIG_TYPE

double ConfigNode::get(const std::string& key, double fallback, const Constraint& constraint) const {
  return checked(*this, key, fallback, constraint);
}
int64_t ConfigNode::get(const std::string& key, int64_t fallback, const Constraint& constraint) const {
  return checked(*this, key, fallback, constraint);
}
int ConfigNode::get(const std::string& key, int fallback, const Constraint& constraint) const {
  return checked(*this, key, fallback, constraint);
}

std::string ConfigNode::choice(const std::string& key, const std::string& fallback,
                               const std::vector<std::string>& allowed) const {
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

Constraint positive() {
  return {[](double value) { return value > 0; }, "must be > 0"};
}
Constraint non_negative() {
  return {[](double value) { return value >= 0; }, "must be >= 0"};
}
Constraint between(double low, double high) {
  return {[=](double value) { return value >= low && value <= high; },
          str_cat("must be in [", low, ", ", high, "]")};
}

}  // namespace osprey
