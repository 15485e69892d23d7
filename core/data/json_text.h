#pragma once

#include <string>

namespace osprey {

// The text with null in place of NaN, Infinity and -Infinity outside of strings: Python writes and reads
// them, JSON knows none of them.
std::string replace_non_finite(const std::string& json);

// "LINE:COLUMN: problem" of the first syntax error of a text that is no JSON, 1-based.
std::string describe_syntax_error(const std::string& json);

}  // namespace osprey
