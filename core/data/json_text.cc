#include "core/data/json_text.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/base/strings.h"

namespace osprey {
namespace {

constexpr std::array<std::string_view, 3> kNonFinite = {"NaN", "Infinity", "-Infinity"};

// Position of the quote that ends the string whose first quote is at `begin`.
size_t end_of_string(const std::string& json, size_t begin) {
  for (size_t i = begin + 1; i < json.size(); ++i) {
    if (json[i] == '\\') {
      ++i;
    } else if (json[i] == '"') {
      return i;
    }
  }
  return json.size();
}

// Length of the non-finite number that begins at `i`, or 0.
size_t non_finite_at(const std::string& json, size_t i) {
  if (json[i] != 'N' && json[i] != 'I' && json[i] != '-') return 0;
  for (const std::string_view word : kNonFinite) {
    if (json.compare(i, word.size(), word) == 0) return word.size();
  }
  return 0;
}

// Takes errors from the parser and ignores all values.
struct ErrorHandler final : nlohmann::json_sax<nlohmann::json> {
  size_t byte = 0;
  std::string message;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    byte = position;
    message = error.what();
    return false;
  }
};

}  // namespace

std::string replace_non_finite(const std::string& json) {
  std::string out;
  out.reserve(json.size());
  size_t i = 0;
  while (i < json.size()) {
    size_t length = 1;
    if (json[i] == '"') {
      length = std::min(end_of_string(json, i) + 1, json.size()) - i;
    } else if (const size_t word = non_finite_at(json, i)) {
      out += "null";
      i += word;
      continue;
    }
    out.append(json, i, length);
    i += length;
  }
  return out;
}

std::string describe_syntax_error(const std::string& json) {
  ErrorHandler handler;
  nlohmann::json::sax_parse(json, &handler);
  const size_t at = std::min(handler.byte > 0 ? handler.byte - 1 : 0, json.size());
  const auto line = std::count(json.begin(), json.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1;
  const size_t line_start = at == 0 ? std::string::npos : json.rfind('\n', at - 1);
  const size_t column = line_start == std::string::npos ? at + 1 : at - line_start;
  // nlohmann: "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while ..."
  const size_t text = handler.message.find(": ");
  return str_cat(line, ":", column, " (byte ", at,
                 "): ", text == std::string::npos ? "is no JSON" : handler.message.substr(text + 2));
}

}  // namespace osprey
