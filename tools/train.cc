// Trains a detector from a config: mmdetection's tools/train.py.
#include <CLI/CLI.hpp>

#include "core/base/logging.h"
#include "tools/command_line.h"
#include "tools/ranks.h"
#include "tools/training.h"

namespace osprey {
namespace {

struct Flags {
  TrainOptions train;
  int64_t seed = 0;
  RankFlags ranks;
};

void declare(CLI::App& app, Flags& flags) {
  app.add_option("config,--config", flags.train.config, "YAML config file")->required();
  app.add_option("--work-dir", flags.train.work_dir, "where logs and checkpoints go (./work_dirs/<config>)");
  auto* resume = app.add_option("--resume-from", flags.train.resume_from, "checkpoint to continue from");
  app.add_flag("--auto-resume", flags.train.auto_resume,
               "continue from the newest checkpoint of the work dir")
      ->excludes(resume);
  app.add_flag("--no-validate", flags.train.no_validate, "do not evaluate during training");
  app.add_flag("--auto-scale-lr", flags.train.auto_scale_lr,
               "optimizer.lr times the batch size / auto_scale_lr.base_batch_size (16)");
  app.add_option("--seed", flags.seed, "random seed; the same seed gives the same weights");
  app.add_flag("--deterministic", flags.train.deterministic,
               "only deterministic kernels (the CPU has no others)");
  add_device_flags(app, flags.train);
  app.add_option("--cfg-options,--options", flags.train.cfg_options, "KEY=VALUE ...: changes to the config");
  add_rank_flags(app, flags.ranks);
  app.add_flag("--check", flags.train.check, "check the config and everything it names, train nothing");
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
    osprey::join_ranks(flags.ranks, "tools/train");
    if (app.count("--seed") > 0) osprey::read_seed(flags);
    osprey::Training training(flags.train);
    if (flags.train.check) {
      osprey::log_info(flags.train.config + ": the config and everything it names are fine");
      return;
    }
    training.run();
  });
}
