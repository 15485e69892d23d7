#pragma once

#include <string>

namespace osprey::testing {

struct Outcome {
  int exit_code;
  std::string output;  // stdout and stderr
};

// Runs tools/NAME_main, which the test names as `data`, as a shell does.
Outcome run_tool(const std::string& name, const std::string& arguments);

}  // namespace osprey::testing
