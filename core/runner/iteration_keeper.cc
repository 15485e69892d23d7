#include "core/runner/iteration_keeper.h"

#include "core/backend/dense_math.h"
#include "core/base/logging.h"
#include "core/base/parallel.h"
#include "core/parallel/communicator.h"
#include "core/runner/iteration_dump.h"
#include "core/runner/runner.h"

namespace osprey {
namespace {

ConfigNode or_empty(const ConfigNode& debug) { return debug.is_null() ? parse_config("{}", "debug") : debug; }

IterationDump dump_of(Runner& runner, const NonFiniteEvent& event, const Diagnosis& diagnosis) {
  IterationDump dump;
  IterationRecord& record = dump.record;
  const Scene scene = runner.scene();
  record.iter = scene.iter;
  record.epoch = runner.epoch();
  record.seed = runner.seed();
  record.precision = scene.weights.precision();
  record.keep_fp32 = scene.weights.keep_fp32();
  record.loss_factor = scene.loss_factor;
  record.lr = scene.lr;
  record.last_committed = scene.last_committed;
  record.event = event;
  record.losses = runner.losses();
  record.diagnosis = diagnosis;
  record.device = str_cat(runner.model_device());
  record.num_threads = num_threads();
  record.num_ranks = world().size();
  record.deterministic = dense_math_policy().deterministic;
  record.env_info = runner.env_info();
  dump.config = runner.config();
  dump.batch = runner.batch();
  dump.weights = scene.weights.state_dict();
  return dump;
}

}  // namespace

IterationKeeper::IterationKeeper(const ConfigNode& root) {
  const ConfigNode debug = or_empty(root.find("debug"));
  left_ = debug.get("max_dumps", int64_t{3}, non_negative());
  off_ = left_ == 0;
  most_bytes_ = debug.get("max_dump_mb", int64_t{4096}, between(1, 1e9)) << 20;
}

void IterationKeeper::keep(Runner& runner, const NonFiniteEvent& event, const Diagnosis& diagnosis,
                           bool ends_run) {
  if (off_ || (left_ == 0 && !ends_run)) return;
  if (left_ > 0) --left_;
  const int64_t iteration = runner.iter() + 1;
  try {
    const IterationDump dump = dump_of(runner, event, diagnosis);
    const auto bytes = static_cast<int64_t>(bytes_of(dump));
    if (bytes > most_bytes_)
      throw UserError(str_cat("it has ", bytes >> 20, " MB, debug.max_dump_mb allows ", most_bytes_ >> 20));
    const std::string folder = write_iteration_dump(runner.work_dir(), dump);
    log_of_rank(LogLevel::kInfo, str_cat("iteration ", iteration, " is kept in ", folder, "; `tools/replay ",
                                         folder, "` repeats it"));
  } catch (const std::exception& error) {
    log_of_rank(LogLevel::kWarning, str_cat("iteration ", iteration, " is not kept: ", error.what()));
  }
}

}  // namespace osprey
