#pragma once

#include <sstream>
#include <string>
#include <vector>

namespace osprey {

// Concatenates everything that prints to a stream: str_cat("got ", 3, " of ", n).
template <typename... Args>
std::string str_cat(const Args&... args) {
  std::ostringstream out;
  (void)(out << ... << args);
  return out.str();
}

// "a, b, c". Elements are printed with operator<<.
template <typename Range>
std::string join(const Range& items, const std::string& separator = ", ") {
  std::ostringstream out;
  bool first = true;
  for (const auto& item : items) {
    if (!first) out << separator;
    out << item;
    first = false;
  }
  return out.str();
}

std::vector<std::string> split(const std::string& text, char separator);
bool starts_with(const std::string& text, const std::string& prefix);
bool ends_with(const std::string& text, const std::string& suffix);

// Shell-style pattern: '*' matches any run of characters (dots included), '?' exactly one.
bool glob_match(const std::string& pattern, const std::string& text);

// The other word closest to `word` by edit distance (case costs nothing), or "" when none is near enough to
// be meant.
std::string nearest_match(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace osprey
