#pragma once

#include <cstdint>
#include <string>

#include "core/config/config.h"
#include "core/runner/hook.h"

namespace osprey {

// Where a run stands when a learning rate is asked for; all 0-based.
struct SchedulePoint {
  int64_t epoch = 0, iter = 0;
  int64_t epoch_length = 1;
  int64_t max_epochs = 0, max_iters = 0;
};

// Sets the learning rate of every parameter group before each iteration, from the group's initial_lr
// (mmcv's LrUpdaterHook). A policy gives the regular rate; during the first warmup_iters iterations (epochs
// with warmup_by_epoch) that is reduced:
//   constant: * warmup_ratio;  linear: * (1 - (1 - i / n)(1 - ratio));  exp: * ratio^(1 - i / n).
// `lr_config: {policy: step, ...}` is the hook StepLrUpdaterHook.
// Keys: by_epoch (true), warmup (constant | linear | exp), warmup_iters (0), warmup_ratio (0.1),
// warmup_by_epoch (false).
class LrUpdaterHook : public Hook {
 public:
  Priority priority() const override { return Priority::kVeryHigh; }
  void before_train_iter(Runner& runner) override;

  double lr_at(double base_lr, const SchedulePoint& point) const;

 protected:
  explicit LrUpdaterHook(const ConfigNode& cfg);
  // progress: epochs or iterations so far; max_progress: of the whole run.
  virtual double regular_lr(double base_lr, double progress, double max_progress) const = 0;

 private:
  double warmed_up(double regular, double iter, double warmup_iters) const;

  bool by_epoch_;
  std::string warmup_;  // "" when there is none
  int64_t warmup_iters_;
  double warmup_ratio_;
  bool warmup_by_epoch_;
};

// The hook's type for a policy: 'step' -> "StepLrUpdaterHook", 'CosineAnnealing' and 'cosine' ->
// "CosineAnnealingLrUpdaterHook".
std::string lr_updater_type(const std::string& policy);

// The rate that min_lr or min_lr_ratio (exactly one of them) means.
class LrFloor {
 public:
  explicit LrFloor(const ConfigNode& cfg);
  double operator()(double base_lr) const { return relative_ ? base_lr * value_ : value_; }

 private:
  bool relative_;
  double value_;
};

// From `start` to `end` along half a cosine; factor in [0, 1].
double annealing_cos(double start, double end, double factor);

}  // namespace osprey
