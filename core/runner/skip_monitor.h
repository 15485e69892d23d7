#pragma once

#include <cstdint>
#include <string>

#include "core/config/config.h"
#include "core/runner/iteration_keeper.h"
#include "core/runner/step_hook.h"

namespace osprey {

class Runner;

// Counts the iterations that were rolled back, explains them in the log, keeps some for tools/replay, and
// ends a run that gets nowhere.
//
// Config: `on_nonfinite: skip` (default: the iteration is rolled back and training goes on, until
// max_consecutive_skips of the step hook are exceeded) or `stop` (the first skip that a dynamic loss scale
// does not absorb ends the run).
class SkipMonitor {
 public:
  explicit SkipMonitor(const ConfigNode& root);

  void committed();
  // Call after the rollback, while the batch is still there: the event is diagnosed by replaying it. Throws
  // Error with the diagnosis when the run must end. Returns the reason for hooks and log.
  std::string skipped(Runner& runner, const NonFiniteEvent& event);

  int64_t total() const { return total_; }
  int64_t consecutive() const { return consecutive_; }
  const std::string& last_reason() const { return last_reason_; }
  NonFiniteEvent::Where last_where() const { return last_where_; }
  void set_total(int64_t total) { total_ = total; }  // of a resumed run

 private:
  Diagnosis diagnose_and_keep(Runner& runner, const NonFiniteEvent& event, bool last);
  bool worth_a_diagnosis(const NonFiniteEvent& event, bool last) const;

  bool stop_at_once_;
  IterationKeeper keeper_;
  int64_t total_ = 0;
  int64_t unabsorbed_ = 0;
  int64_t consecutive_ = 0;
  int64_t consecutive_unabsorbed_ = 0;
  std::string last_reason_;
  NonFiniteEvent::Where last_where_ = NonFiniteEvent::Where::kGradient;
};

}  // namespace osprey
