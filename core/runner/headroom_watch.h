#pragma once

#include <vector>

#include "core/runner/headroom.h"
#include "core/runner/replay.h"

namespace osprey {

class Runner;

// How far an f16 run is from half's limits, measured in one iteration of every debug.headroom_interval (500;
// 0 switches it off), the first of the run among them: the fields overflow_binades and underflow_binades of
// the log, a warning before a static scale overflows, and a table at the end of the run.
class HeadroomWatch {
 public:
  explicit HeadroomWatch(const ConfigNode& root);

  // Starts to watch the ops of this iteration when it is due.
  void begin(Runner& runner);
  // Between backward and whoever takes the gradients.
  void see_gradients(Module& model);
  // Ends the watch; what it saw counts only for a committed iteration.
  void end(Runner& runner, bool committed);
  void report() const;  // the table, of the last measurement

 private:
  void see(const OpEvent& event);
  void warn(Runner& runner, const Tightest& tightest);

  int64_t interval_;
  bool watching_ = false;
  int64_t warnings_ = 0;
  HeadroomMeter meter_;
  Tensor newest_;  // what the last op made
  uint64_t newest_version_ = 0;
  std::vector<Room> last_;
  int64_t last_iter_ = 0;
};

}  // namespace osprey
