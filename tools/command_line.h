#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace osprey {

// A tool's main: parses the command line and runs `body`. Returns its exit code: 0; 2 for what the user can
// mend (flags, config, files), with the line of the config that is to blame; 1 for anything else.
int run_tool(CLI::App& app, int argc, char** argv, const std::function<void()>& body);

}  // namespace osprey
