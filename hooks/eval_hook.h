#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/data/dataset.h"
#include "core/runner/runner.h"

namespace osprey {

// `evaluation: {interval: 1, metric: [bbox, segm], save_best: auto}`: runs the validation set through the
// model after an epoch (or `interval` iterations with by_epoch: false), logs the metrics, and keeps the best
// weights as best_<key>_epoch_<n>.safetensors. A score of 0.0 is a score; one that is not finite never is
// the best, and neither are non-finite weights.
// Keys: interval (1), start (none), by_epoch (true), metric (bbox), classwise, proposal_nums, iou_thrs,
// iou_thr, jsonfile_prefix; save_best (none; 'auto': the first metric), rule ('greater' | 'less'; by the
// key's name), greater_keys, less_keys, out_dir.
// Several ranks share the images and rank 0 evaluates; broadcast_bn_buffer (true): with its BatchNorm
// statistics. gpu_collect (false), tmpdir: how mmcv collects results; here they travel by MPI either way.
class EvalHook final : public Hook {
 public:
  EvalHook(const ConfigNode& cfg, std::shared_ptr<const Dataset> dataset, int workers);

  // Behind the timer, so that an evaluation does not count as time of the iteration before it.
  Priority priority() const override { return Priority::kLow; }
  void before_run(Runner& runner) override;
  void before_train_epoch(Runner& runner) override;
  void after_train_epoch(Runner& runner) override;
  void after_iter(Runner& runner) override;
  void save_state(StateDict& state) const override;
  void load_state(const StateDict& state) override;

 private:
  bool due(int64_t finished) const;
  void evaluate(Runner& runner, const std::string& when);
  EvalReport report_of_main(const std::vector<DetectionResult>& results) const;
  void keep_if_best(Runner& runner, const EvalReport& report, const std::string& when);
  bool better(double score) const;
  bool greater_is_better(const std::string& key) const;

  std::shared_ptr<const Dataset> dataset_;
  int workers_;
  int64_t interval_;
  std::optional<int64_t> start_;
  bool by_epoch_;
  EvalOptions options_;
  std::string save_best_;  // "" when off
  std::string rule_;       // "" until decided
  std::vector<std::string> greater_keys_, less_keys_;
  std::string out_dir_;
  bool broadcast_bn_buffer_;
  bool first_epoch_ = true;
  std::optional<double> best_score_;
  std::string best_ckpt_;
};

// Reads the keys that Dataset.evaluate takes.
EvalOptions read_eval_options(const ConfigNode& cfg);

}  // namespace osprey
