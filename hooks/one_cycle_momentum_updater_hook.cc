#include <algorithm>

#include "core/runner/runner.h"
#include "hooks/momentum_updater_hook.h"

namespace osprey {
namespace {

// One cycle against the learning rate's (torch.optim's OneCycleLR): from max_momentum to base_momentum in the
// first pct_start of the run, then back; with three_phase, back in as many iterations, and on at
// max_momentum. The optimizer's own momentum plays no part. Keys: base_momentum (0.85), max_momentum (0.95):
// numbers, or one for each parameter group; pct_start (0.3), anneal_strategy (cos), three_phase (false),
// by_epoch (false only).
class OneCycleMomentumUpdaterHook final : public MomentumUpdaterHook {
 public:
  explicit OneCycleMomentumUpdaterHook(const ConfigNode& cfg)
      : MomentumUpdaterHook(cfg, /*by_epoch_default=*/false),
        base_(read(cfg, "base_momentum", 0.85)),
        max_(read(cfg, "max_momentum", 0.95)),
        pct_start_(read_pct_start(cfg)),
        anneal_(read_anneal_strategy(cfg)),
        three_phase_(cfg.get("three_phase", false)) {
    require_by_iteration(cfg);
  }

  void before_run(Runner& runner) override {
    const size_t groups = runner.optimizer().groups().size();
    base_.check(groups);
    max_.check(groups);
  }

 protected:
  double regular_momentum(double, size_t group, double progress, double max_progress) const override {
    const double low = base_.of(group), high = max_.of(group);
    const CyclePhase fall{pct_start_ * max_progress - 1, high, low};
    if (!three_phase_) return value_in_phases({fall, {max_progress - 1, low, high}}, progress, anneal_);
    const CyclePhase back{2 * pct_start_ * max_progress - 2, low, high};
    return value_in_phases({fall, back, {max_progress - 1, high, high}}, progress, anneal_);
  }

 private:
  // A number for all groups, or one for each.
  struct PerGroup {
    ConfigNode node;  // null for a default
    std::vector<double> values;
    double of(size_t group) const { return values[std::min(group, values.size() - 1)]; }
    void check(size_t groups) const {
      if (!node.is_null()) number_per_group(node, groups);
    }
  };
  static PerGroup read(const ConfigNode& cfg, const char* key, double fallback) {
    const ConfigNode node = cfg.find(key);
    if (node.is_null()) return {node, {fallback}};
    PerGroup read{node, node.is_list() ? node.as<std::vector<double>>() : std::vector{node.as<double>()}};
    for (const double value : read.values) {
      if (!(value >= 0 && value < 1)) node.fail("must be in [0, 1)");
    }
    if (read.values.empty()) node.fail("must be a number, or one for each parameter group");
    return read;
  }

  PerGroup base_, max_;
  double pct_start_;
  Annealing anneal_;
  bool three_phase_;
};

OSPREY_REGISTER_HOOK(OneCycleMomentumUpdaterHook);

}  // namespace
}  // namespace osprey
