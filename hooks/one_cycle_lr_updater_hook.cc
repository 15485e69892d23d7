#include <algorithm>

#include "core/runner/runner.h"
#include "hooks/lr_updater_hook.h"

namespace osprey {
namespace {

// One cycle (Smith and Topin, "Super-Convergence", 2018; torch.optim's OneCycleLR): from max_lr / div_factor
// to max_lr in the first pct_start of the run, then down to max_lr / div_factor / final_div_factor; with
// three_phase, back to the start in as many iterations first. The optimizer's own lr plays no part.
// Keys: max_lr (a number, or one for each parameter group), total_steps (the run's iterations), pct_start
// (0.3), anneal_strategy (cos), div_factor (25), final_div_factor (1e4), three_phase (false), by_epoch
// (false only).
class OneCycleLrUpdaterHook final : public LrUpdaterHook {
 public:
  explicit OneCycleLrUpdaterHook(const ConfigNode& cfg)
      : LrUpdaterHook(cfg, /*by_epoch_default=*/false),
        max_lr_(cfg["max_lr"]),
        total_steps_(cfg.find("total_steps")),
        pct_start_(read_pct_start(cfg)),
        anneal_(read_anneal_strategy(cfg)),
        div_factor_(cfg.get("div_factor", 25.0, positive())),
        final_div_factor_(cfg.get("final_div_factor", 1e4, positive())),
        three_phase_(cfg.get("three_phase", false)) {
    require_by_iteration(cfg);
    const auto rates =
        max_lr_.is_list() ? max_lr_.as<std::vector<double>>() : std::vector{max_lr_.as<double>()};
    if (rates.empty() || *std::min_element(rates.begin(), rates.end()) <= 0) max_lr_.fail("must be > 0");
    rates_ = rates;
    if (!total_steps_.is_null()) steps_ = cfg.get("total_steps", int64_t{0}, positive());
  }

  void before_run(Runner& runner) override {
    number_per_group(max_lr_, runner.optimizer().groups().size());  // or it says what does not fit
    if (steps_ > 0 && steps_ < runner.max_iters())
      total_steps_.fail(str_cat("must be at least the run's iterations, ", runner.max_iters()));
  }

  double base_lr(double, size_t group) const override {
    return rates_[std::min(group, rates_.size() - 1)] / div_factor_;
  }

 protected:
  double regular_lr(double base_lr, double progress, double max_progress) const override {
    const double total = steps_ > 0 ? static_cast<double>(steps_) : max_progress;
    const double high = base_lr * div_factor_, low = base_lr / final_div_factor_;
    const CyclePhase rise{pct_start_ * total - 1, base_lr, high};
    if (!three_phase_) return value_in_phases({rise, {total - 1, high, low}}, progress, anneal_);
    const CyclePhase back{2 * pct_start_ * total - 2, high, base_lr};
    return value_in_phases({rise, back, {total - 1, base_lr, low}}, progress, anneal_);
  }

 private:
  ConfigNode max_lr_, total_steps_;
  std::vector<double> rates_;
  int64_t steps_ = 0;  // 0: as many as the run has
  double pct_start_;
  Annealing anneal_;
  double div_factor_, final_div_factor_;
  bool three_phase_;
};

OSPREY_REGISTER_HOOK(OneCycleLrUpdaterHook);

}  // namespace
}  // namespace osprey
