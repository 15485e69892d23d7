#include "tools/command_line.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "core/base/error.h"
#include "core/config/config.h"

namespace osprey {

int run_tool(CLI::App& app, int argc, char** argv, const std::function<void()>& body) {
  try {
    app.parse(argc, argv);
    body();
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;  // --help is one too
  } catch (const Error& error) {
    std::cerr << with_source_lines(error.what()) << std::endl;
    return error.exit_code();
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}

}  // namespace osprey
