// Prints the config that a run would use, or where one of its values comes from.
#include <CLI/CLI.hpp>
#include <iostream>

#include "core/config/config.h"
#include "tools/command_line.h"

namespace osprey {
namespace {

std::string place_of(const ConfigOrigin& origin) {
  return origin.line == 0 ? origin.file : str_cat(origin.file, ":", origin.line, ":", origin.column);
}

// optimizer.lr: 0.01
//   set in --cfg-options optimizer.lr=0.01
//   overrides 0.02 of configs/_base_/schedules/schedule_1x.yaml:2:28
void print_why(const ConfigNode& node) {
  const std::string separator = node.is_map() || node.is_list() ? ":\n" : ": ";
  std::cout << node.path() << separator << node.to_yaml();
  std::cout << "  set in " << place_of(node.origin()) << "\n";
  for (const ConfigSource& source : node.overridden()) {
    std::cout << "  overrides " << source.text << " of " << place_of(source.origin) << "\n";
  }
}

}  // namespace
}  // namespace osprey

int main(int argc, char** argv) {
  CLI::App app("Prints the merged config: bases, references and overrides resolved.");
  std::string config, key;
  std::vector<std::string> overrides;
  app.add_option("config,--config", config, "YAML config file")->required();
  app.add_option("--cfg-options", overrides, "KEY=VALUE ..., as for training");
  app.add_option("--why", key,
                 "print only this key (a.b.0.c), the file and line that set it, and what it replaced");
  return osprey::run_tool(app, argc, argv, [&] {
    const osprey::ConfigNode root = osprey::load_config(config, overrides);
    if (key.empty()) {
      std::cout << root.to_yaml();
    } else {
      osprey::print_why(root.at_path(key));
    }
  });
}
