#pragma once

#include <memory>

#include "core/runner/hook.h"
#include "hooks/schedule.h"

namespace osprey {

// Sets the momentum of every parameter group (Adam: its first beta) before each iteration, from the group's
// initial_momentum (mmcv's MomentumUpdaterHook). A policy gives the regular momentum; during the first
// warmup_iters iterations that is divided by the warmup's factor (hooks/schedule.h).
// `momentum_config: {policy: cyclic, ...}` is the hook CyclicMomentumUpdaterHook.
// Keys: by_epoch (true), warmup, warmup_iters, warmup_ratio (0.9).
class MomentumUpdaterHook : public Hook {
 public:
  Priority priority() const override { return Priority::kHigh; }
  void before_run(Runner& runner) override;
  void before_train_iter(Runner& runner) override;

  double momentum_at(double base_momentum, size_t group, const SchedulePoint& point) const;

 protected:
  explicit MomentumUpdaterHook(const ConfigNode& cfg, bool by_epoch_default = true);
  // For a policy that a schedule describes; the others override regular_momentum.
  MomentumUpdaterHook(const ConfigNode& cfg, std::unique_ptr<Schedule> schedule,
                      bool by_epoch_default = true);
  // progress: epochs or iterations so far; max_progress: of the whole run.
  virtual double regular_momentum(double base_momentum, size_t group, double progress,
                                  double max_progress) const;

 private:
  std::unique_ptr<Schedule> schedule_;  // null where regular_momentum is overridden
  bool by_epoch_;
  Warmup warmup_;
};

}  // namespace osprey
