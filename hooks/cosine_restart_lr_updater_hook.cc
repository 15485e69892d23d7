#include <algorithm>
#include <numeric>

#include "core/runner/runner.h"
#include "hooks/lr_updater_hook.h"

namespace osprey {
namespace {

// Half a cosine from the initial rate to the floor in each period, with a fresh start after it (Loshchilov
// and Hutter, "SGDR", 2017). Keys: periods, restart_weights ([1]; scales each start), min_lr or min_lr_ratio.
class CosineRestartLrUpdaterHook final : public LrUpdaterHook {
 public:
  explicit CosineRestartLrUpdaterHook(const ConfigNode& cfg)
      : LrUpdaterHook(cfg),
        cfg_(cfg),
        periods_(cfg.get<std::vector<int64_t>>("periods")),
        weights_(cfg.get<std::vector<double>>("restart_weights", {1})),
        floor_(cfg, "min_lr") {
    if (periods_.empty() || *std::min_element(periods_.begin(), periods_.end()) <= 0)
      cfg["periods"].fail("must be numbers > 0");
    if (periods_.size() != weights_.size())
      cfg["periods"].fail(str_cat("has ", periods_.size(), " numbers, restart_weights ", weights_.size()));
  }

  void before_run(Runner& runner) override {
    const int64_t run = by_epoch() ? runner.max_epochs() : runner.max_iters();
    const int64_t covered = std::accumulate(periods_.begin(), periods_.end(), int64_t{0});
    if (run > covered) cfg_["periods"].fail(str_cat("cover ", covered, " of ", run));
  }

 protected:
  double regular_lr(double base_lr, double progress, double) const override {
    size_t period = 0;
    double start = 0;
    for (; period + 1 < periods_.size() && progress >= start + length(period); ++period)
      start += length(period);
    const double factor = std::min((progress - start) / length(period), 1.0);
    return annealing_cos(base_lr, floor_(base_lr), factor, weights_[period]);
  }

 private:
  double length(size_t period) const { return static_cast<double>(periods_[period]); }

  ConfigNode cfg_;
  std::vector<int64_t> periods_;
  std::vector<double> weights_;
  ScheduleFloor floor_;
};

OSPREY_REGISTER_HOOK(CosineRestartLrUpdaterHook);

}  // namespace
}  // namespace osprey
