#pragma once

#include <string>
#include <vector>

namespace osprey {

// A table with lines of '-' and '|' (Python's terminaltables, which mmdetection prints). `cells` fill the
// rows from left to right; the last row may stay incomplete.
std::string ascii_table(const std::vector<std::string>& header, const std::vector<std::string>& cells);

}  // namespace osprey
