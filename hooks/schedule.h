#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/config.h"

// What the schedules of learning rate and momentum share (mmcv's lr_updater.py and momentum_updater.py).
namespace osprey {

// Where a run stands when a value is asked for; all 0-based.
struct SchedulePoint {
  int64_t epoch = 0, iter = 0;
  int64_t epoch_length = 1;
  int64_t max_epochs = 0, max_iters = 0;
};

// From `start` to `end`, factor in [0, 1]: along half a cosine (`weight` scales its height), or straight.
double annealing_cos(double start, double end, double factor, double weight = 1);
double annealing_half_cosine(double start, double end, double factor);
double annealing_linear(double start, double end, double factor);

// `anneal_strategy`: cos (default) or linear.
using Annealing = double (*)(double start, double end, double factor);
Annealing read_anneal_strategy(const ConfigNode& cfg);

// The factor on a learning rate at the start of a run (and the divisor of a momentum), n = warmup_iters:
//   constant: warmup_ratio;  linear: 1 - (1 - i / n)(1 - ratio);  exp: ratio^(1 - i / n).
// Keys: warmup (constant | linear | exp), warmup_iters (0), warmup_ratio.
class Warmup {
 public:
  Warmup(const ConfigNode& cfg, double default_ratio);
  bool given() const { return !kind_.empty(); }
  int64_t iters() const { return iters_; }
  // Requires iter < warmup_iters; the latter is passed because LR schedules may count it in epochs.
  double factor(double iter, double warmup_iters) const;

 private:
  std::string kind_;  // "" when there is none
  int64_t iters_;
  double ratio_;
};

// A value over a run, from what it starts with: what policies of learning rate and momentum have in common.
class Schedule {
 public:
  virtual ~Schedule() = default;
  // progress: epochs or iterations so far; max_progress: of the whole run.
  virtual double at(double base, double progress, double max_progress) const = 0;
  // Throws UserError when it does not fit a run of so many iterations.
  virtual void check(int64_t /*max_iters*/) const {}
};

// The lowest value of a schedule, from exactly one of KEY (absolute) and KEY_ratio (of the base value).
class ScheduleFloor {
 public:
  ScheduleFloor(const ConfigNode& cfg, const std::string& key);
  double operator()(double base) const { return relative_ ? base * value_ : value_; }

 private:
  bool relative_;
  double value_;
};

// base * gamma^k, k = the number of steps passed, but not below the floor. Keys: step (an interval, or
// ascending milestones), gamma, and `floor_key` (none).
class StepSchedule final : public Schedule {
 public:
  StepSchedule(const ConfigNode& cfg, double default_gamma, const std::string& floor_key);
  double at(double base, double progress, double) const override;

 private:
  double steps_passed(double progress) const;

  int64_t interval_ = 0;  // 0: milestones
  std::vector<int64_t> milestones_;
  double gamma_, floor_;
};

// From the base value to the floor, straight or along half a cosine. Keys: `floor_key` or `floor_key`_ratio.
class AnnealingSchedule final : public Schedule {
 public:
  AnnealingSchedule(const ConfigNode& cfg, Annealing anneal, const std::string& floor_key)
      : anneal_(anneal), floor_(cfg, floor_key) {}
  double at(double base, double progress, double max_progress) const override {
    return anneal_(base, floor_(base), progress / max_progress);
  }

 private:
  Annealing anneal_;
  ScheduleFloor floor_;
};

// Up and down `cyclic_times` times (Smith, "Cyclical Learning Rates", 2017): from the base value to
// target_ratio[0] times it in the first step_ratio_up of a cycle, then to target_ratio[1] times it. Cycle k
// has gamma^k of the height. Keys: target_ratio, cyclic_times (1), step_ratio_up (0.4), anneal_strategy
// (cos), gamma (1), by_epoch (false only).
class CyclicSchedule final : public Schedule {
 public:
  CyclicSchedule(const ConfigNode& cfg, double default_up, double default_down);
  double at(double base, double iter, double max_iters) const override;
  // A run may have no room for the cycles.
  void check(int64_t max_iters) const override;

 private:
  ConfigNode cfg_;
  double up_, down_;
  int64_t cyclic_times_;
  double step_ratio_up_;
  double gamma_;
  Annealing anneal_;
};

// One stretch of a schedule in one cycle (Smith and Topin, "Super-Convergence", 2018): values at both ends.
struct CyclePhase {
  double end_iter;
  double start, end;
};
// The value at `iter` of phases that follow each other from iteration 0; behind the last one its end.
double value_in_phases(const std::vector<CyclePhase>& phases, double iter, Annealing anneal);

// The end of the rise of a single cycle and, with three_phase, of the way back: fractions pct_start (0.3) and
// 2 pct_start of all iterations. Throws UserError for values outside [0, 1].
double read_pct_start(const ConfigNode& cfg);

// The same number for every group, or a list with one for each.
std::vector<double> number_per_group(const ConfigNode& node, size_t groups);

// by_epoch must be false (or absent): a cycle is counted in iterations.
void require_by_iteration(const ConfigNode& cfg);

}  // namespace osprey
