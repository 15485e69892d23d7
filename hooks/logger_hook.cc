#include "hooks/logger_hook.h"

#include "core/runner/runner.h"

namespace osprey {

LoggerHook::LoggerHook(const ConfigNode& cfg)
    : interval_(cfg.get("interval", int64_t{10}, positive())),
      ignore_last_(cfg.get("ignore_last", true)),
      reset_flag_(cfg.get("reset_flag", false)),
      by_epoch_(cfg.get("by_epoch", true)) {}

void LoggerHook::before_run(Runner& runner) {
  for (const auto& hook : runner.hooks()) {
    if (hook->logs()) last_ = hook.get() == this;
  }
}

void LoggerHook::before_epoch(Runner& runner) { runner.log_buffer().clear(); }

void LoggerHook::after_iter(Runner& runner) {
  if (!runner.training()) return;
  LogBuffer& buffer = runner.log_buffer();
  if (buffer.ready()) return log_metrics(runner);
  const bool due = by_epoch_ ? runner.every_n_inner_iters(interval_) : runner.every_n_iters(interval_);
  if (!due && (ignore_last_ || !runner.end_of_epoch())) return;
  buffer.average(interval_);  // as mmcv, also at the short end of an epoch: it reaches back
  log(runner);
  buffer.clear_output();
  if (reset_flag_ && last_) buffer.clear();
}

void LoggerHook::after_epoch(Runner& runner) {
  if (!runner.training() && !runner.log_buffer().ready()) runner.log_buffer().average();
  if (runner.log_buffer().ready()) log_metrics(runner);
}

void LoggerHook::log_metrics(Runner& runner) {
  log(runner);
  if (last_) runner.log_buffer().clear_output();
}

bool LoggerHook::logs_training(Runner& runner) {
  return runner.training() && runner.log_buffer().find_output("time") != nullptr;
}

bool momentum_is_scheduled(const Runner& runner) {
  for (const auto& hook : runner.hooks()) {
    if (ends_with(hook->name(), "MomentumUpdaterHook")) return true;
  }
  return false;
}

}  // namespace osprey
