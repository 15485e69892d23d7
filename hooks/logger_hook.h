#pragma once

#include <cstdint>
#include <string>

#include "core/runner/hook.h"

namespace osprey {

class Runner;

// When a logger writes, and which values (mmcv's LoggerHook): every `interval` iterations the averages of the
// last `interval`, after an evaluation its metrics. Several loggers see the same values, each at its own
// interval.
// Keys: interval (10), ignore_last (true: no line for the short rest of an epoch), reset_flag (false:
// averages reach back over a logged line), by_epoch (true).
class LoggerHook : public Hook {
 public:
  Priority priority() const override { return Priority::kVeryLow; }
  bool logs() const override { return true; }

  void before_run(Runner& runner) override;
  void before_epoch(Runner& runner) override;
  void after_iter(Runner& runner) override;
  void after_epoch(Runner& runner) override;

 protected:
  explicit LoggerHook(const ConfigNode& cfg);
  // Writes runner.log_buffer().output().
  virtual void log(Runner& runner) = 0;

  int64_t interval() const { return interval_; }
  bool by_epoch() const { return by_epoch_; }
  // Whether output() holds training averages rather than an evaluation's metrics.
  static bool logs_training(Runner& runner);

 private:
  void log_metrics(Runner& runner);

  int64_t interval_;
  bool ignore_last_;
  bool reset_flag_;
  bool by_epoch_;
  bool last_ = true;  // of the run's loggers: metrics stay until it has seen them
};

// Whether a hook moves the momentum, so that it is worth a field of the log.
bool momentum_is_scheduled(const Runner& runner);

}  // namespace osprey
