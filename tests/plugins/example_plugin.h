#pragma once

#include <filesystem>
#include <string>

#include "tools/plugins/plugins.h"

namespace osprey {

// Loads examples/plugins/NAME.so, from the runfiles or from bazel-bin, as a config would.
inline void load_example_plugin(const std::string& name) {
  const std::string runfile = "examples/plugins/" + name + ".so";
  const std::string path = std::filesystem::exists(runfile) ? runfile : "bazel-bin/" + runfile;
  load_plugins(parse_config("plugins: [" + path + "]\n"));
}

}  // namespace osprey
