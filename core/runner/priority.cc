#include "core/runner/priority.h"

#include <algorithm>
#include <cctype>

#include "core/base/strings.h"

namespace osprey {
namespace {

const std::vector<std::pair<std::string, Priority>>& named_priorities() {
  static const std::vector<std::pair<std::string, Priority>> table = {
      {"HIGHEST", Priority::kHighest}, {"VERY_HIGH", Priority::kVeryHigh},
      {"HIGH", Priority::kHigh},       {"ABOVE_NORMAL", Priority::kAboveNormal},
      {"NORMAL", Priority::kNormal},   {"BELOW_NORMAL", Priority::kBelowNormal},
      {"LOW", Priority::kLow},         {"VERY_LOW", Priority::kVeryLow},
      {"LOWEST", Priority::kLowest},
  };
  return table;
}

}  // namespace

std::string name_of(Priority priority) {
  for (const auto& [name, value] : named_priorities()) {
    if (value == priority) return name;
  }
  return std::to_string(static_cast<int>(priority));
}

Priority read_priority(const ConfigNode& node) {
  if (node.is<int>()) {
    const int value = node.as<int>();
    if (value < 0 || value > 100) node.fail(str_cat("a priority must be in [0, 100], got ", value));
    return static_cast<Priority>(value);
  }
  std::string wanted = node.as<std::string>();
  std::transform(wanted.begin(), wanted.end(), wanted.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  std::vector<std::string> names;
  for (const auto& [name, value] : named_priorities()) {
    if (name == wanted) return value;
    names.push_back(name);
  }
  const std::string near = nearest_match(wanted, names);
  node.fail("unknown priority '" + wanted + "'; allowed: " + join(names) + ", or an integer in [0, 100]" +
            (near.empty() ? "" : ". Did you mean '" + near + "'?"));
}

}  // namespace osprey
