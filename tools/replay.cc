#include <CLI/CLI.hpp>
#include <iostream>

#include "tools/command_line.h"
#include "tools/device_choice.h"
#include "tools/replay_report.h"

namespace osprey {
namespace {

struct Arguments {
  std::string folder, precision;
  DeviceFlags device;
  ReportOptions report;
  bool advise = false;
};

void declare(CLI::App& app, Arguments& args) {
  app.add_option("folder", args.folder, "WORK_DIR/numerics/iter_N, as the log names it")->required();
  app.add_option("--precision", args.precision, "fp32 | fp16 | bf16 (as logged)");
  app.add_option("--loss-scale", args.report.loss_scale, "as logged")->check(CLI::PositiveNumber);
  app.add_flag("--all", args.report.all, "print every op, also behind the first bad one");
  app.add_flag("--advise", args.advise, "print what every power of two would do as a loss scale instead");
  add_device_flags(app, args.device);
}

std::optional<DType> precision_of(const std::string& name) {
  if (name.empty()) return std::nullopt;
  if (name == "fp32") return DType::kF32;
  if (name == "fp16") return DType::kF16;
  if (name == "bf16") return DType::kBF16;
  throw UserError("--precision " + name + ": allowed are fp32, fp16, bf16");
}

}  // namespace
}  // namespace osprey

int main(int argc, char** argv) {
  CLI::App app("Repeats an iteration that could not commit, op by op; needs no data set.");
  osprey::Arguments args;
  osprey::declare(app, args);
  return osprey::run_tool(app, argc, argv, [&] {
    const auto precision = osprey::precision_of(args.precision);
    osprey::KeptIteration iteration(args.folder, osprey::choose_device(args.device), precision);
    if (args.advise) return osprey::report_advice(iteration, std::cout);
    osprey::report_replay(iteration, args.report, std::cout);
  });
}
