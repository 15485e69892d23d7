#pragma once

#include "core/runner/forensics.h"

namespace osprey {

class Runner;

// Keeps iterations that could not commit in WORK_DIR/numerics/iter_N, for tools/replay.
//
// Config: `debug: {max_dumps: 3, max_dump_mb: 4096}`: so many of a run, and one more when an iteration ends
// it (0: none at all); none larger than that.
class IterationKeeper {
 public:
  explicit IterationKeeper(const ConfigNode& root);

  // Writes the runner's current iteration and says in one line where it is, or why it is not kept. Throws
  // nothing: a full disk must not end a run.
  void keep(Runner& runner, const NonFiniteEvent& event, const Diagnosis& diagnosis, bool ends_run);

 private:
  int64_t left_;
  bool off_;
  int64_t most_bytes_;
};

}  // namespace osprey
