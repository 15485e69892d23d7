#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/data/data_loader.h"
#include "core/runner/runner.h"
#include "tools/train_options.h"

namespace osprey {

// A training run built from a config: data, model, runner, hooks. The constructor reads and checks everything
// (an error never reaches the first iteration), run() trains.
class Training {
 public:
  explicit Training(const TrainOptions& options);

  Runner& runner() { return *runner_; }

  // Trains to the end; SIGINT ends the run after the current iteration (Interrupted). Throws Error when not
  // one iteration could commit.
  void run();

 private:
  void choose_paths();
  void read_resume_point(bool wants_latest);
  void require_same_start() const;
  void choose_seed();
  void build_data();
  void build_model();
  void build_runner();
  void open_work_dir();
  void load_checkpoints();

  TrainOptions options_;
  ConfigNode config_;
  std::string stem_;  // of the config file
  std::string work_dir_;
  std::string timestamp_;
  std::string resume_path_;  // "" : from the start
  Checkpoint resume_;        // what it holds, until the run has it
  std::string load_from_;    // weights to start from, "" : none
  Device device_;
  uint64_t seed_ = 0;
  bool deterministic_ = false;
  std::shared_ptr<const Dataset> train_set_;
  std::unique_ptr<Detector> model_;
  std::unique_ptr<Runner> runner_;
  std::vector<std::unique_ptr<BatchSource>> sources_;
  std::vector<WorkflowStep> workflow_;
};

// mmdetection's `auto_scale_lr: {enable: true, base_batch_size: 16}`, or the flag (`wanted`): the config with
// optimizer.lr times batch_size / base_batch_size, and with `enable` off, so that a dump of it means the
// same.
ConfigNode with_scaled_lr(const ConfigNode& config, bool wanted, int64_t batch_size);

// The linear scaling rule (Goyal et al. 2017) as a warning: mmdetection's SGD recipes mean lr 0.02 for 16
// images a step, and the commonest cause of `loss: nan` is that lr with a smaller batch. "" when the rate is
// within four times the rule.
std::string lr_advice(const std::string& optimizer, double lr, int64_t batch_size,
                      int64_t base_batch_size = 16);

}  // namespace osprey
