#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "core/runner/runner.h"
#include "hooks/logger_hook.h"

namespace osprey {

// Writes mmcv's training lines to the console and the log file, and the same values as one JSON object a line
// to <work_dir>/<timestamp>.log.json. The JSON is always valid: what is not finite becomes null.
//
//   Epoch [1][50/1749]<tab>lr: 1.978e-03, eta: 2:36:29, time: 1.807, data_time: 0.047, memory: 5280,
//   loss: 3.0280
//
// Averages are over the committed iterations of the last `interval`; skipped ones are counted in a field of
// their own (`skipped: 3/50`), as is the loss scale of a half run, and the momentum where a schedule moves
// it. Keys: those of LoggerHook, interval_exp_name (1000).
class TextLoggerHook final : public LoggerHook {
 public:
  explicit TextLoggerHook(const ConfigNode& cfg);
  void before_run(Runner& runner) override;

 protected:
  void log(Runner& runner) override;

 private:
  struct Line;  // the values of one line, in the order of the JSON
  Line collect(Runner& runner) const;
  std::string text_of(Runner& runner, const Line& line);
  std::string eta(Runner& runner, double time);
  void write_json(const std::string& text) const;

  int64_t interval_exp_name_;
  std::string json_path_;
  int64_t start_iter_ = 0;
  double time_sec_tot_ = 0;
  int64_t skips_logged_ = 0;  // skips before the current window
};

}  // namespace osprey
