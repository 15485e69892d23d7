#include "tools/command_line.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "core/base/error.h"
#include "core/base/logging.h"
#include "core/config/config.h"
#include "core/parallel/communicator.h"

namespace osprey {
namespace {

// Threads that wait for each other sleep instead of spinning: a spinning thread takes the core that the
// loader's workers, or whatever else runs on the machine, keeps the other one from (measured on two busy
// cores: a step of 6.3 s became 0.7 s). OpenMP reads the variable before main(), so the program starts itself
// once more. The user's own setting wins.
void sleep_at_barriers(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") || std::getenv("GOMP_SPINCOUNT")) return;
  setenv("OMP_WAIT_POLICY", "passive", 1);
  std::error_code failed;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", failed);
  execv(self.c_str(), argv);  // comes back only when it failed; then the program is merely slower
}

// "bazel-bin/tools/train_main" is started as tools/train.
std::string launcher_of(const std::string& binary) {
  std::string name = std::filesystem::path(binary).filename().string();
  if (ends_with(name, "_main")) name.resize(name.size() - 5);
  return "tools/" + name;
}

// Of several ranks that end alike one prints why.
int end_with(const std::string& message, int exit_code) {
  log_to_files(LogLevel::kError, message);
  const std::string text = with_source_lines(message);
  if (world().last_words(text, exit_code)) std::cerr << text << std::endl;
  world().leave();
  return exit_code;
}

}  // namespace

int run_tool(CLI::App& app, int argc, char** argv, const std::function<void()>& body) {
  sleep_at_barriers(argv);
  app.name(launcher_of(argv[0]));
  try {
    app.parse(argc, argv);
    body();
    world().leave();
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;  // --help is one too
  } catch (const Error& error) {
    return end_with(error.what(), error.exit_code());
  } catch (const std::exception& error) {
    return end_with(error.what(), 1);
  }
}

}  // namespace osprey
