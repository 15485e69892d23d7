#include "tests/run_tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <array>
#include <filesystem>

namespace osprey::testing {

namespace {

Outcome run_command(const std::string& command) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  Outcome outcome{-1, ""};
  std::array<char, 4096> buffer{};
  while (const size_t count = fread(buffer.data(), 1, buffer.size(), pipe))
    outcome.output.append(buffer.data(), count);
  outcome.exit_code = WEXITSTATUS(pclose(pipe));
  return outcome;
}

}  // namespace

Outcome run_tool(const std::string& name, const std::string& arguments) {
  return run_command(in_runfiles("tools/" + name + "_main") + " " + arguments);
}

std::string in_runfiles(const std::string& path) {
  return std::filesystem::exists(path) ? path : "bazel-bin/" + path;
}

bool has_mpirun() { return system("command -v mpirun >/dev/null") == 0; }

Outcome run_ranks(int ranks, const std::string& command) {
  return run_command("tests/mpirun " + std::to_string(ranks) + " " + command);
}

}  // namespace osprey::testing
