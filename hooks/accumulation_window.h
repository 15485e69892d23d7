#pragma once

#include <cstdint>

#include "core/config/config.h"
#include "core/nn/module.h"

namespace osprey {

class Runner;

// Groups iterations whose gradients are summed before one step (mmcv's GradientCumulativeOptimizerHook). The
// window is the unit of the transaction: one bad iteration costs all of it. Without the key
// `cumulative_iters` a window is one iteration.
class AccumulationWindow {
 public:
  AccumulationWindow() = default;
  explicit AccumulationWindow(const ConfigNode& cfg);

  // What the loss is divided by: cumulative_iters, or the number of iterations in the last, shorter window of
  // the run.
  int64_t loss_factor(const Runner& runner) const;
  bool closes(const Runner& runner) const;

  // After a bad iteration the rest of its window is skipped too.
  void lose(const Runner& runner) { lost_ = !closes(runner); }
  bool lost(const Runner& runner);

  int64_t cumulative_iters() const { return cumulative_iters_; }

  // The open window of a run that is saved inside it: gradients summed so far and staged buffers.
  static void save(Runner& runner, StateDict& state);
  static void load(Runner& runner, const StateDict& state);

 private:
  int64_t cumulative_iters_ = 1;
  bool lost_ = false;
};

}  // namespace osprey
