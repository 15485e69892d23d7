// Prints the config that a run would use, where one of its values comes from, or what a type can be given.
#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>

#include "core/config/config.h"
#include "tools/command_line.h"
#include "tools/plugins/plugins.h"
#include "tools/schema.h"

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

struct Arguments {
  std::string config, key, type;
  std::vector<std::string> overrides;
  bool schema = false;
};

// The launcher says where the sources are.
std::string source_root() {
  const char* root = std::getenv("OSPREY_ROOT");
  return root ? root : ".";
}

void print(const Arguments& args) {
  if (args.config.empty() && !args.schema) throw UserError("config is required; see --help");
  const ConfigNode root = args.config.empty() ? ConfigNode() : load_config(args.config, args.overrides);
  if (args.schema) {
    if (!args.config.empty()) load_plugins(root);
    args.type.empty() ? print_types(std::cout) : print_schema(args.type, source_root(), std::cout);
  } else if (args.key.empty()) {
    std::cout << root.to_yaml();
  } else {
    print_why(root.at_path(args.key));
  }
}

}  // namespace
}  // namespace osprey

int main(int argc, char** argv) {
  CLI::App app("Prints the merged config: bases, references and overrides resolved.");
  osprey::Arguments args;
  app.add_option("config,--config", args.config, "YAML config file");
  app.add_option("--cfg-options", args.overrides, "KEY=VALUE ..., as for training");
  app.add_option("--why", args.key,
                 "print only this key (a.b.0.c), the file and line that set it, and what it replaced");
  auto* schema =
      app.add_option("--schema", args.type,
                     "print the keys of a type, e.g. FocalLoss; without TYPE all types, with those of "
                     "the config's plugins");
  schema->expected(0, 1)->type_name("TYPE");
  return osprey::run_tool(app, argc, argv, [&] {
    args.schema = schema->count() > 0;
    osprey::print(args);
  });
}
