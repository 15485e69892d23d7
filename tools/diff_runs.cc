#include <CLI/CLI.hpp>
#include <iostream>

#include "tools/command_line.h"
#include "tools/run_difference.h"

namespace osprey {
namespace {

void print_part(const std::string& title, const std::string& differences) {
  std::cout << title << ":" << (differences.empty() ? " no difference\n" : "\n" + differences);
}

void print_differences(const std::string& first, const std::string& second) {
  const RunFolder a = read_run(first), b = read_run(second);
  print_part("config", config_differences(a, b));
  print_part("environment", fact_differences(a, b));
  print_part("first difference in the log", first_log_difference(a, b));
}

}  // namespace
}  // namespace osprey

int main(int argc, char** argv) {
  CLI::App app("Prints in what two runs differ: config, machine, and where their logs part.");
  std::string first, second;
  app.add_option("A", first, "a work dir")->required();
  app.add_option("B", second, "another")->required();
  return osprey::run_tool(app, argc, argv, [&] { osprey::print_differences(first, second); });
}
