#include "tests/run_tool.h"

#include <stdio.h>
#include <sys/wait.h>

#include <array>
#include <filesystem>

namespace osprey::testing {

Outcome run_tool(const std::string& name, const std::string& arguments) {
  const std::string in_runfiles = "tools/" + name + "_main";
  const std::string binary =
      std::filesystem::exists(in_runfiles) ? in_runfiles : "bazel-bin/" + in_runfiles;  // started by hand
  FILE* pipe = popen((binary + " " + arguments + " 2>&1").c_str(), "r");
  Outcome outcome{-1, ""};
  std::array<char, 4096> buffer{};
  while (const size_t count = fread(buffer.data(), 1, buffer.size(), pipe))
    outcome.output.append(buffer.data(), count);
  outcome.exit_code = WEXITSTATUS(pclose(pipe));
  return outcome;
}

}  // namespace osprey::testing
