#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/runner/hook.h"
#include "hooks/schedule.h"

namespace osprey {

// Sets the learning rate of every parameter group before each iteration, from the group's initial_lr
// (mmcv's LrUpdaterHook). A policy gives the regular rate; during the first warmup_iters iterations (epochs
// with warmup_by_epoch) that is multiplied by the warmup's factor (hooks/schedule.h).
// `lr_config: {policy: step, ...}` is the hook StepLrUpdaterHook.
// Keys: by_epoch (true), warmup, warmup_iters, warmup_ratio (0.1), warmup_by_epoch (false).
class LrUpdaterHook : public Hook {
 public:
  Priority priority() const override { return Priority::kVeryHigh; }
  void before_run(Runner& runner) override;
  void before_train_iter(Runner& runner) override;

  double lr_at(double base_lr, const SchedulePoint& point) const;
  // What the policy starts from in a group: its initial_lr, unless the policy has its own.
  virtual double base_lr(double initial_lr, size_t /*group*/) const { return initial_lr; }

 protected:
  explicit LrUpdaterHook(const ConfigNode& cfg, bool by_epoch_default = true);
  // For a policy that a schedule describes; the others override regular_lr.
  LrUpdaterHook(const ConfigNode& cfg, std::unique_ptr<Schedule> schedule, bool by_epoch_default = true);
  // progress: epochs or iterations so far; max_progress: of the whole run.
  virtual double regular_lr(double base_lr, double progress, double max_progress) const;
  bool by_epoch() const { return by_epoch_; }

 private:
  std::unique_ptr<Schedule> schedule_;  // null where regular_lr is overridden
  bool by_epoch_;
  Warmup warmup_;
  bool warmup_by_epoch_;
};

// Where the runner stands now.
SchedulePoint schedule_point(const Runner& runner);

// The hook's type for a policy: 'step' -> "StepLrUpdaterHook", 'CosineAnnealing' and 'cosine' ->
// "CosineAnnealingLrUpdaterHook"; with another suffix the momentum's.
std::string lr_updater_type(const std::string& policy, const std::string& suffix = "LrUpdaterHook");

}  // namespace osprey
