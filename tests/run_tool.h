#pragma once

#include <string>

namespace osprey::testing {

struct Outcome {
  int exit_code;
  std::string output;  // stdout and stderr
};

// Runs tools/NAME_main, which the test names as `data`, as a shell does.
Outcome run_tool(const std::string& name, const std::string& arguments);

// Where `path`, a file of Bazel's output, is: in the test's runfiles, or in the root when started by hand.
std::string in_runfiles(const std::string& path);

// Runs `command` in that many processes (tests/mpirun, which the test names as `data`).
bool has_mpirun();
Outcome run_ranks(int ranks, const std::string& command);

}  // namespace osprey::testing
