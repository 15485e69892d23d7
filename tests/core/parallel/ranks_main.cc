// Runs one scenario on every rank; started by mpirun.
#include <CLI/CLI.hpp>

#include "core/base/logging.h"
#include "core/parallel/mpi_communicator.h"
#include "tests/core/parallel/scenario.h"
#include "tools/command_line.h"

int main(int argc, char** argv) {
  CLI::App app("One scenario of several processes.");
  std::string name;
  app.add_option("scenario", name)->required();
  return osprey::run_tool(app, argc, argv, [&] {
    osprey::join_mpi_world();
    osprey::log_as_rank(osprey::world().rank());
    osprey::testing::scenarios().at(name)();
    if (osprey::world().is_main()) osprey::log_info(name + ": as expected");
  });
}
