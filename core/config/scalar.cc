#include "core/config/scalar.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/config/config_value.h"

namespace osprey {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// All of `text` as a number; no sign.
template <typename T, typename... Format>
std::optional<T> parse_whole(const std::string& text, Format... format) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, format...);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// A sign in front, as from_chars wants it: '-' only.
std::string without_plus(const std::string& text) {
  return text.size() > 1 && text[0] == '+' && text[1] != '-' ? text.substr(1) : text;
}

}  // namespace

bool is_null_text(const std::string& text) {
  return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL" || text == "None";
}

std::optional<bool> parse_bool(const std::string& text) {
  const std::string word = lower(text);
  if (word == "true") return true;
  if (word == "false") return false;
  return std::nullopt;
}

std::optional<int64_t> parse_int(const std::string& text) {
  const std::string number = without_plus(text);
  if (starts_with(number, "0x")) return parse_whole<int64_t>(number.substr(2), 16);
  if (starts_with(number, "0o")) return parse_whole<int64_t>(number.substr(2), 8);
  return parse_whole<int64_t>(number, 10);
}

std::optional<double> parse_double(const std::string& text) {
  if (const auto integer = parse_int(text)) return static_cast<double>(*integer);
  const std::string number = lower(without_plus(text));
  const bool negative = starts_with(number, "-");
  const std::string magnitude = negative ? number.substr(1) : number;
  if (magnitude == ".inf" || magnitude == "inf")
    return (negative ? -1 : 1) * std::numeric_limits<double>::infinity();
  if (number == ".nan" || number == "nan") return std::numeric_limits<double>::quiet_NaN();
  // from_chars also knows "infinity" and "nan(...)", which are words here.
  if (magnitude.empty() || !(is_digit(magnitude[0]) || magnitude[0] == '.')) return std::nullopt;
  return parse_whole<double>(number, std::chars_format::general);
}

bool is_string_text(const std::string& text) {
  return !is_null_text(text) && !parse_bool(text) && !parse_double(text);
}

std::string double_text(double value) {
  if (std::isnan(value)) return ".nan";
  if (std::isinf(value)) return value < 0 ? "-.inf" : ".inf";
  char buffer[32];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  std::string text(buffer, result.ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

namespace {

// Characters that mean nothing to YAML anywhere inside a word.
bool is_harmless(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || std::string("_./+-@%").find(c) != std::string::npos;
}

// "a b" and "torchvision://resnet50" are fine as they are; "a: b", "a #b", "[", "" and " a" are not.
bool is_plain_safe(const std::string& text) {
  if (!is_string_text(text)) return false;
  const char first = text.front();
  if (!std::isalpha(static_cast<unsigned char>(first)) && std::string("_./").find(first) == std::string::npos)
    return false;
  for (size_t i = 1; i < text.size(); ++i) {
    const bool inside = i + 1 < text.size() && is_harmless(text[i + 1]);
    if (!is_harmless(text[i]) && !((text[i] == ' ' || text[i] == ':') && inside)) return false;
  }
  return true;
}

std::string double_quoted(const std::string& text) {
  static const char* const kHex = "0123456789ABCDEF";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += std::string("\\") + c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += std::string("\\x") + kHex[byte >> 4] + kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace

std::string string_yaml(const std::string& text) {
  if (is_plain_safe(text)) return text;
  const bool printable =
      std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; });
  if (printable && text.find('\'') == std::string::npos) return "'" + text + "'";
  return double_quoted(text);
}

std::string describe(const ConfigValue& value) {
  switch (value.kind) {
    case ConfigValue::Kind::kNull:
      return "null";
    case ConfigValue::Kind::kScalar:
      return value.quoted || is_string_text(value.text) ? "the string '" + value.text + "'" : value.text;
    case ConfigValue::Kind::kMap:
      return "a map";
    case ConfigValue::Kind::kList:
      return str_cat("a list of ", value.items.size());
  }
  return "";
}

}  // namespace osprey
