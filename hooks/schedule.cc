#include "hooks/schedule.h"

#include <algorithm>
#include <cmath>

namespace osprey {

double annealing_cos(double start, double end, double factor, double weight) {
  return end + 0.5 * weight * (start - end) * (std::cos(M_PI * factor) + 1);
}

double annealing_half_cosine(double start, double end, double factor) {
  return annealing_cos(start, end, factor);
}

double annealing_linear(double start, double end, double factor) { return start + (end - start) * factor; }

Annealing read_anneal_strategy(const ConfigNode& cfg) {
  const bool linear = cfg.choice("anneal_strategy", "cos", {"cos", "linear"}) == "linear";
  return linear ? annealing_linear : annealing_half_cosine;
}

Warmup::Warmup(const ConfigNode& cfg, double default_ratio)
    : kind_(cfg.find("warmup").is_null() ? "" : cfg.choice("warmup", "", {"constant", "linear", "exp"})),
      iters_(cfg.get("warmup_iters", int64_t{0}, non_negative())),
      ratio_(cfg.get("warmup_ratio", default_ratio, between(0, 1))) {
  if (!given()) return;
  if (iters_ == 0) cfg["warmup_iters"].fail("must be > 0 with a warmup");
  if (ratio_ == 0) cfg["warmup_ratio"].fail("must be > 0, got 0");
}

double Warmup::factor(double iter, double warmup_iters) const {
  if (kind_ == "constant") return ratio_;
  if (kind_ == "linear") return 1 - (1 - iter / warmup_iters) * (1 - ratio_);
  return std::pow(ratio_, 1 - iter / warmup_iters);
}

CyclicSchedule::CyclicSchedule(const ConfigNode& cfg, double default_up, double default_down)
    : cfg_(cfg),
      up_(default_up),
      down_(default_down),
      cyclic_times_(cfg.get("cyclic_times", int64_t{1}, positive())),
      step_ratio_up_(cfg.get("step_ratio_up", 0.4, non_negative())),
      gamma_(cfg.get("gamma", 1.0)),
      anneal_(read_anneal_strategy(cfg)) {
  require_by_iteration(cfg);
  if (!(step_ratio_up_ < 1)) cfg["step_ratio_up"].fail("must be in [0, 1)");
  const ConfigNode target = cfg.find("target_ratio");
  if (target.is_null()) return;
  const auto ratios = target.is_list() ? target.as<std::vector<double>>() : std::vector{target.as<double>()};
  if (ratios.empty() || ratios.size() > 2) target.fail("must be one or two numbers");
  up_ = ratios[0];
  down_ = ratios.size() == 2 ? ratios[1] : up_ / 1e5;  // as mmcv
}

void CyclicSchedule::check(int64_t max_iters) const {
  if (max_iters > 0 && cyclic_times_ > max_iters)
    cfg_["cyclic_times"].fail(str_cat("the run has ", max_iters, " iterations, too few for so many cycles"));
}

double CyclicSchedule::at(double base, double iter, double max_iters) const {
  const double cycle = std::floor(max_iters / static_cast<double>(cyclic_times_));
  const double rise = std::floor(step_ratio_up_ * cycle), here = std::fmod(iter, cycle);
  const double height = std::pow(gamma_, std::floor(iter / cycle));
  const auto scaled = [&](double ratio) { return 1 - height + ratio * height; };
  if (here < rise) return anneal_(base, base * scaled(up_), here / rise);
  // mmcv scales the end that is away from the base value; without a rise it takes the wrong one. So do we.
  const double start = rise == 0 ? up_ : scaled(up_), end = rise == 0 ? scaled(down_) : down_;
  return anneal_(base * start, base * end, (here - rise) / (cycle - rise));
}

double value_in_phases(const std::vector<CyclePhase>& phases, double iter, Annealing anneal) {
  double start_iter = 0;
  for (const CyclePhase& phase : phases) {
    const bool last = &phase == &phases.back();
    if (iter <= phase.end_iter || last) {
      const double length = phase.end_iter - start_iter;
      const double factor = length > 0 ? std::min((iter - start_iter) / length, 1.0) : 1;
      return anneal(phase.start, phase.end, factor);
    }
    start_iter = phase.end_iter;
  }
  return 0;
}

double read_pct_start(const ConfigNode& cfg) { return cfg.get("pct_start", 0.3, between(0, 1)); }

std::vector<double> number_per_group(const ConfigNode& node, size_t groups) {
  if (!node.is_list()) return std::vector<double>(groups, node.as<double>());
  const auto numbers = node.as<std::vector<double>>();
  if (numbers.size() != groups)
    node.fail(str_cat("has ", numbers.size(), " numbers for ", groups, " parameter groups"));
  return numbers;
}

void require_by_iteration(const ConfigNode& cfg) {
  if (cfg.get("by_epoch", false)) cfg["by_epoch"].fail("must be false: a cycle is counted in iterations");
}

StepSchedule::StepSchedule(const ConfigNode& cfg, double default_gamma, const std::string& floor_key)
    : gamma_(cfg.get("gamma", default_gamma, positive())), floor_(cfg.get(floor_key, 0.0, non_negative())) {
  const ConfigNode step = cfg["step"];
  if (step.is_list()) {
    milestones_ = step.as<std::vector<int64_t>>(non_negative());
    if (!std::is_sorted(milestones_.begin(), milestones_.end())) step.fail("milestones must ascend");
  } else {
    interval_ = step.as<int64_t>(positive());
  }
}

double StepSchedule::at(double base, double progress, double) const {
  return std::max(base * std::pow(gamma_, steps_passed(progress)), floor_);
}

double StepSchedule::steps_passed(double progress) const {
  if (interval_ > 0) return std::floor(progress / static_cast<double>(interval_));
  return static_cast<double>(std::count_if(milestones_.begin(), milestones_.end(), [&](int64_t milestone) {
    return progress >= static_cast<double>(milestone);
  }));
}

ScheduleFloor::ScheduleFloor(const ConfigNode& cfg, const std::string& key) {
  const ConfigNode absolute = cfg.find(key), relative = cfg.find(key + "_ratio");
  if (absolute.is_null() == relative.is_null())
    (absolute.is_null() ? cfg : absolute).fail(str_cat("give exactly one of ", key, " and ", key, "_ratio"));
  relative_ = absolute.is_null();
  value_ = relative_ ? relative.as<double>(between(0, 1)) : absolute.as<double>(non_negative());
}

}  // namespace osprey
