#pragma once

#include <cstdint>
#include <optional>
#include <string>

// What the text of a plain (unquoted) YAML scalar means: the types of YAML 1.2's core schema, with Python's
// spellings (True, None, inf, nan) understood too.
namespace osprey {

struct ConfigValue;

bool is_null_text(const std::string& text);
std::optional<bool> parse_bool(const std::string& text);      // true | false, any case
std::optional<int64_t> parse_int(const std::string& text);    // decimal, 0x, 0o
std::optional<double> parse_double(const std::string& text);  // integers too
// Whether the text, written without quotes, is a string.
bool is_string_text(const std::string& text);

// A number as YAML text that reads back to the same bits and stays a float.
std::string double_text(double value);
// A string as a YAML scalar that loads back as this string, quoted where it must be.
std::string string_yaml(const std::string& text);

// For messages: "the string 'abc'", "512", "null", "a list of 3", "a map".
std::string describe(const ConfigValue& value);

}  // namespace osprey
