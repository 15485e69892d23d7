#include "hooks/momentum_updater_hook.h"

#include "core/runner/runner.h"
#include "hooks/lr_updater_hook.h"

namespace osprey {

MomentumUpdaterHook::MomentumUpdaterHook(const ConfigNode& cfg, bool by_epoch_default)
    : MomentumUpdaterHook(cfg, nullptr, by_epoch_default) {}

MomentumUpdaterHook::MomentumUpdaterHook(const ConfigNode& cfg, std::unique_ptr<Schedule> schedule,
                                         bool by_epoch_default)
    : schedule_(std::move(schedule)),
      by_epoch_(cfg.get("by_epoch", by_epoch_default)),
      warmup_(cfg, /*default_ratio=*/0.9) {}

void MomentumUpdaterHook::before_run(Runner& runner) {
  if (schedule_) schedule_->check(runner.max_iters());
}

double MomentumUpdaterHook::regular_momentum(double base_momentum, size_t, double progress,
                                             double max_progress) const {
  OSPREY_REQUIRE(schedule_, name(), " has neither a schedule nor a regular_momentum of its own");
  return schedule_->at(base_momentum, progress, max_progress);
}

void MomentumUpdaterHook::before_train_iter(Runner& runner) {
  const SchedulePoint point = schedule_point(runner);
  std::vector<ParamGroup>& groups = runner.optimizer().groups();
  for (size_t i = 0; i < groups.size(); ++i)
    groups[i].momentum = momentum_at(groups[i].initial_momentum, i, point);
}

double MomentumUpdaterHook::momentum_at(double base_momentum, size_t group,
                                        const SchedulePoint& point) const {
  const auto progress = static_cast<double>(by_epoch_ ? point.epoch : point.iter);
  const auto max_progress = static_cast<double>(by_epoch_ ? point.max_epochs : point.max_iters);
  const double regular = regular_momentum(base_momentum, group, progress, max_progress);
  if (!warmup_.given() || point.iter >= warmup_.iters()) return regular;
  return regular / warmup_.factor(static_cast<double>(point.iter), static_cast<double>(warmup_.iters()));
}

}  // namespace osprey
