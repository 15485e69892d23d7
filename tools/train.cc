// Trains a detector from a config: mmdetection's tools/train.py.
#include <CLI/CLI.hpp>

#include "core/base/logging.h"
#include "tools/command_line.h"
#include "tools/training.h"

namespace osprey {
namespace {

struct Flags {
  TrainOptions train;
  int64_t seed = 0;
  int gpus = 1;
  std::vector<int> gpu_ids;
  std::string launcher = "none";
  int local_rank = 0;
};

void declare(CLI::App& app, Flags& flags) {
  app.add_option("config,--config", flags.train.config, "YAML config file")->required();
  app.add_option("--work-dir", flags.train.work_dir, "where logs and checkpoints go (./work_dirs/<config>)");
  auto* resume = app.add_option("--resume-from", flags.train.resume_from, "checkpoint to continue from");
  app.add_flag("--auto-resume", flags.train.auto_resume,
               "continue from the newest checkpoint of the work dir")
      ->excludes(resume);
  app.add_flag("--no-validate", flags.train.no_validate, "do not evaluate during training");
  app.add_option("--seed", flags.seed, "random seed; the same seed gives the same weights");
  app.add_flag("--deterministic", flags.train.deterministic,
               "only deterministic kernels (the CPU has no others)");
  auto* gpus = app.add_option("--gpus", flags.gpus, "number of GPUs");
  app.add_option("--gpu-ids,--gpu-id", flags.gpu_ids, "ids of the GPUs to use")->excludes(gpus);
  app.add_option("--cfg-options,--options", flags.train.cfg_options, "KEY=VALUE ...: changes to the config");
  app.add_option("--launcher", flags.launcher, "none | pytorch | slurm | mpi");
  app.add_option("--local_rank,--local-rank", flags.local_rank, "set by mmdetection's launchers; ignored");
  app.add_option("--device", flags.train.device, "cpu | cuda (a GPU when there is one)");
  app.add_flag("--check", flags.train.check, "check the config and everything it names, train nothing");
}

void check_processes(const Flags& flags) {
  if (flags.launcher == "pytorch")
    throw UserError(
        "--launcher pytorch: there is no PyTorch here; this build trains in one process (--launcher none)");
  if (flags.launcher == "slurm" || flags.launcher == "mpi")
    throw UserError("--launcher " + flags.launcher + ": this build trains in one process (--launcher none)");
  if (flags.launcher != "none")
    throw UserError("--launcher " + flags.launcher + ": allowed are none, pytorch, slurm, mpi");
  if (flags.gpus != 1)
    throw UserError(
        str_cat("--gpus: must be 1, got ", flags.gpus, ": this build trains in one process on one device"));
  if (flags.gpu_ids.size() > 1)
    throw UserError("--gpu-ids: this build trains in one process on one device: give one");
  if (!flags.gpu_ids.empty() && flags.gpu_ids[0] < 0)
    throw UserError(str_cat("--gpu-ids: must be >= 0, got ", flags.gpu_ids[0]));
}

void read_seed(Flags& flags) {
  if (flags.seed < 0) throw UserError(str_cat("--seed: must be >= 0, got ", flags.seed));
  flags.train.seed = static_cast<uint64_t>(flags.seed);
}

}  // namespace
}  // namespace osprey

int main(int argc, char** argv) {
  CLI::App app("Trains a detector from a config.");
  osprey::Flags flags;
  osprey::declare(app, flags);
  return osprey::run_tool(app, argc, argv, [&] {
    osprey::check_processes(flags);
    if (app.count("--seed") > 0) osprey::read_seed(flags);
    osprey::Training training(flags.train);
    if (flags.train.check) {
      osprey::log_info(flags.train.config + ": the config and everything it names are fine");
      return;
    }
    training.run();
  });
}
