#include "core/config/overrides.h"

#include "core/config/scalar.h"
#include "core/config/yaml_parser.h"

namespace osprey {
namespace {

using Kind = ConfigValue::Kind;

class OverrideParser {
 public:
  OverrideParser(ConfigOrigin origin, std::string path)
      : origin_(std::move(origin)), path_(std::move(path)) {}

  ValuePtr parse(const std::string& text) const {
    const std::string value = trim(text);
    if (split_top_level(value).size() > 1) return list(value);
    return element(value);
  }

 private:
  static std::string trim(const std::string& text) {
    const size_t first = text.find_first_not_of(" \t\n");
    if (first == std::string::npos) return "";
    return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
  }

  static bool enclosed(const std::string& text, char open, char close) {
    return text.size() >= 2 && text.front() == open && text.back() == close;
  }

  // At commas outside brackets and quotes. "1," is one part and an empty one.
  std::vector<std::string> split_top_level(const std::string& text) const {
    std::vector<std::string> parts(1);
    std::string open;
    for (const char c : text) {
      const bool quoted = !open.empty() && (open.back() == '\'' || open.back() == '"');
      if (quoted) {
        if (c == open.back()) open.pop_back();
      } else if (c == '[' || c == '(' || c == '{') {
        open.push_back(c);
      } else if (c == ']' || c == ')' || c == '}') {
        close(open, c, text);
      } else if ((c == '\'' || c == '"') && trim(parts.back()).empty()) {
        open.push_back(c);
      } else if (c == ',' && open.empty()) {
        parts.emplace_back();
        continue;
      }
      parts.back() += c;
    }
    if (!open.empty()) fail_at(origin_, path_, str_cat("'", open.back(), "' is not closed in '", text, "'"));
    return parts;
  }

  void close(std::string& open, char c, const std::string& text) const {
    const char expected = c == ')' ? '(' : c == ']' ? '[' : '{';
    if (open.empty() || open.back() != expected)
      fail_at(origin_, path_, str_cat("'", c, "' without '", expected, "' in '", text, "'"));
    open.pop_back();
  }

  ValuePtr element(const std::string& text) const {
    if (enclosed(text, '[', ']') || enclosed(text, '(', ')')) return list(text.substr(1, text.size() - 2));
    if (enclosed(text, '{', '}')) return parse_yaml_value(text, origin_, path_);
    if (enclosed(text, '\'', '\'') || enclosed(text, '"', '"'))
      return make_scalar(text.substr(1, text.size() - 2), true, origin_);
    const ValuePtr value = make_scalar(text, false, origin_);
    if (is_null_text(text)) value->kind = Kind::kNull;
    return value;
  }

  ValuePtr list(const std::string& text) const {
    auto value = std::make_shared<ConfigValue>();
    value->kind = Kind::kList;
    value->origin = origin_;
    std::vector<std::string> parts = split_top_level(text);
    if (trim(parts.back()).empty()) parts.pop_back();  // "1," and ""
    for (const std::string& part : parts) value->items.push_back(element(trim(part)));
    return value;
  }

  ConfigOrigin origin_;
  std::string path_;
};

}  // namespace

ValuePtr parse_override(const std::string& text) {
  const ConfigOrigin origin{"--cfg-options " + text, 0, 0};
  const size_t equals = text.find('=');
  if (equals == std::string::npos) fail_at(origin, "", "expected KEY=VALUE, like optimizer.lr=0.01");
  const std::string path = text.substr(0, equals);
  const std::vector<std::string> keys = split(path, '.');
  for (const std::string& key : keys) {
    if (key.empty() || key.find(' ') != std::string::npos)
      fail_at(origin, "", "'" + path + "' is not a key path like data.train.type");
  }
  ValuePtr value = OverrideParser(origin, path).parse(text.substr(equals + 1));
  for (auto key = keys.rbegin(); key != keys.rend(); ++key) {
    auto map = std::make_shared<ConfigValue>();
    map->kind = Kind::kMap;
    map->origin = origin;
    map->entries.push_back({*key, origin, value});
    value = map;
  }
  return value;
}

}  // namespace osprey
