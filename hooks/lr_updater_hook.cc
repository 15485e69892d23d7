#include "hooks/lr_updater_hook.h"

#include <algorithm>
#include <cctype>

#include "core/runner/runner.h"

namespace osprey {

LrUpdaterHook::LrUpdaterHook(const ConfigNode& cfg, bool by_epoch_default)
    : LrUpdaterHook(cfg, nullptr, by_epoch_default) {}

LrUpdaterHook::LrUpdaterHook(const ConfigNode& cfg, std::unique_ptr<Schedule> schedule, bool by_epoch_default)
    : schedule_(std::move(schedule)),
      by_epoch_(cfg.get("by_epoch", by_epoch_default)),
      warmup_(cfg, /*default_ratio=*/0.1),
      warmup_by_epoch_(cfg.get("warmup_by_epoch", false)) {}

void LrUpdaterHook::before_run(Runner& runner) {
  if (schedule_) schedule_->check(runner.max_iters());
}

double LrUpdaterHook::regular_lr(double base_lr, double progress, double max_progress) const {
  OSPREY_REQUIRE(schedule_, name(), " has neither a schedule nor a regular_lr of its own");
  return schedule_->at(base_lr, progress, max_progress);
}

void LrUpdaterHook::before_train_iter(Runner& runner) {
  const SchedulePoint point = schedule_point(runner);
  std::vector<ParamGroup>& groups = runner.optimizer().groups();
  for (size_t i = 0; i < groups.size(); ++i) groups[i].lr = lr_at(base_lr(groups[i].initial_lr, i), point);
}

double LrUpdaterHook::lr_at(double base_lr, const SchedulePoint& point) const {
  const double regular =
      by_epoch_ ? regular_lr(base_lr, static_cast<double>(point.epoch), static_cast<double>(point.max_epochs))
                : regular_lr(base_lr, static_cast<double>(point.iter), static_cast<double>(point.max_iters));
  const int64_t warmup_iters = warmup_.iters() * (warmup_by_epoch_ ? point.epoch_length : 1);
  if (!warmup_.given() || point.iter >= warmup_iters) return regular;
  return regular * warmup_.factor(static_cast<double>(point.iter), static_cast<double>(warmup_iters));
}

SchedulePoint schedule_point(const Runner& runner) {
  return {runner.epoch(), runner.iter(), runner.epoch_length(), runner.max_epochs(), runner.max_iters()};
}

std::string lr_updater_type(const std::string& policy, const std::string& suffix) {
  if (policy == "cosine") return "CosineAnnealing" + suffix;
  std::string name = policy;
  const bool lower = std::none_of(name.begin(), name.end(), [](unsigned char c) { return std::isupper(c); });
  if (lower && !name.empty()) name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  return name + suffix;
}

}  // namespace osprey
