#include "hooks/lr_updater_hook.h"

#include <cctype>
#include <cmath>

#include "core/runner/runner.h"

namespace osprey {

LrUpdaterHook::LrUpdaterHook(const ConfigNode& cfg)
    : by_epoch_(cfg.get("by_epoch", true)),
      warmup_(cfg.find("warmup").is_null() ? "" : cfg.choice("warmup", "", {"constant", "linear", "exp"})),
      warmup_iters_(cfg.get("warmup_iters", int64_t{0}, non_negative())),
      warmup_ratio_(cfg.get("warmup_ratio", 0.1, between(0, 1))),
      warmup_by_epoch_(cfg.get("warmup_by_epoch", false)) {
  if (warmup_.empty()) return;
  if (warmup_iters_ == 0) cfg["warmup_iters"].fail("must be > 0 with a warmup");
  if (warmup_ratio_ == 0) cfg["warmup_ratio"].fail("must be > 0, got 0");
}

void LrUpdaterHook::before_train_iter(Runner& runner) {
  const SchedulePoint point{runner.epoch(), runner.iter(), runner.epoch_length(), runner.max_epochs(),
                            runner.max_iters()};
  for (ParamGroup& group : runner.optimizer().groups()) group.lr = lr_at(group.initial_lr, point);
}

double LrUpdaterHook::lr_at(double base_lr, const SchedulePoint& point) const {
  const double regular =
      by_epoch_ ? regular_lr(base_lr, static_cast<double>(point.epoch), static_cast<double>(point.max_epochs))
                : regular_lr(base_lr, static_cast<double>(point.iter), static_cast<double>(point.max_iters));
  const int64_t warmup_iters = warmup_iters_ * (warmup_by_epoch_ ? point.epoch_length : 1);
  if (warmup_.empty() || point.iter >= warmup_iters) return regular;
  return warmed_up(regular, static_cast<double>(point.iter), static_cast<double>(warmup_iters));
}

double LrUpdaterHook::warmed_up(double regular, double iter, double warmup_iters) const {
  if (warmup_ == "constant") return regular * warmup_ratio_;
  if (warmup_ == "linear") {
    const double k = (1 - iter / warmup_iters) * (1 - warmup_ratio_);
    return regular * (1 - k);
  }
  return regular * std::pow(warmup_ratio_, 1 - iter / warmup_iters);
}

std::string lr_updater_type(const std::string& policy) {
  if (policy == "cosine") return "CosineAnnealingLrUpdaterHook";
  std::string name = policy;
  const bool lower = std::none_of(name.begin(), name.end(), [](unsigned char c) { return std::isupper(c); });
  if (lower && !name.empty()) name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  return name + "LrUpdaterHook";
}

LrFloor::LrFloor(const ConfigNode& cfg) {
  const ConfigNode absolute = cfg.find("min_lr"), relative = cfg.find("min_lr_ratio");
  if (absolute.is_null() == relative.is_null())
    (absolute.is_null() ? cfg : absolute).fail("give exactly one of min_lr and min_lr_ratio");
  relative_ = absolute.is_null();
  value_ = relative_ ? relative.as<double>(between(0, 1)) : absolute.as<double>(non_negative());
}

double annealing_cos(double start, double end, double factor) {
  return end + 0.5 * (start - end) * (std::cos(M_PI * factor) + 1);
}

}  // namespace osprey
