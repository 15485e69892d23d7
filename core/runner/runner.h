#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/amp/master_weights.h"
#include "core/data/batch_source.h"
#include "core/detection/detector.h"
#include "core/optim/optimizer.h"
#include "core/runner/black_box.h"
#include "core/runner/checkpoint.h"
#include "core/runner/fire_drill.h"
#include "core/runner/headroom_watch.h"
#include "core/runner/hook.h"
#include "core/runner/log_buffer.h"
#include "core/runner/loss_watch.h"
#include "core/runner/replay.h"
#include "core/runner/skip_monitor.h"

namespace osprey {

// Ended by request_stop(): nothing half is left behind. Exit code 130, as after SIGINT.
class Interrupted : public Error {
 public:
  using Error::Error;
  int exit_code() const override { return 130; }
};

// What a runner works with beside its own config block.
struct RunnerContext {
  Detector* model = nullptr;  // f32, on its device; must outlive the runner
  ConfigNode config;          // the whole, for checkpoints, optimizer, debug and on_nonfinite
  std::string work_dir;
  std::string exp_name;
  std::string timestamp;  // names the log files, "20260131_224050"
  std::string env_info;
  uint64_t seed = 0;
  std::vector<std::string> classes;
};

// One entry of `workflow: [[train, 1], [val, 1]]`; `count` is in epochs or iterations.
struct WorkflowStep {
  bool train = true;
  int64_t count = 1;
  BatchSource* source = nullptr;
};

// Drives a detector through iterations and its hooks through stages (mmcv 1.x). Registered types:
// EpochBasedRunner, IterBasedRunner.
//
// An iteration is a transaction. It commits (weights, optimizer state, BN statistics, log averages, hooks'
// after_train_iter) only if losses and gradients are finite. Otherwise all that remains of it is a counted,
// explained skip: counters, learning rate, sampler and data randomness move on, nothing else does.
class Runner {
 public:
  virtual ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  // Builds masters and the optimizer of config.optimizer. Call before everything below.
  void set_up(const RunnerContext& context);

  void register_hook(std::unique_ptr<Hook> hook, std::optional<Priority> priority = std::nullopt);
  // Lets every hook check the whole that it is part of; run() begins with it.
  void check();
  // mmcv's table: per stage the hooks in the order in which they run.
  std::string hook_order() const;

  // Continues a run: weights (all must fit), optimizer, hooks' state, counters. `path` is for messages.
  void resume(const Checkpoint& checkpoint, const std::string& path);

  // Trains to the end. Throws Interrupted after request_stop(), Error with a diagnosis when too many
  // iterations in a row could not commit.
  void run(const std::vector<WorkflowStep>& workflow);
  // Safe from a signal handler: the run ends after the current iteration.
  void request_stop() { stop_requested_ = true; }
  void throw_if_stopped() const;  // Interrupted, on all ranks or none: collective
  // The same for this rank alone, inside work whose ranks do not keep step.
  void throw_if_stopped_here() const;

  // --- For hooks.
  Detector& model() { return *context_.model; }
  MasterWeights& weights() { return *weights_; }
  Optimizer& optimizer() { return *optimizer_; }
  double current_lr() const { return optimizer_->groups().empty() ? 0 : optimizer_->groups()[0].lr; }
  LogBuffer& log_buffer() { return log_buffer_; }
  const SkipMonitor& skips() const { return *skips_; }
  int64_t committed_iters() const { return committed_iters_; }  // of this run, not of one it resumed
  StepHook& step_hook() { return *step_hook_; }
  const std::vector<std::unique_ptr<Hook>>& hooks() const { return hooks_; }

  const ConfigNode& config() const { return context_.config; }
  const std::string& work_dir() const { return context_.work_dir; }
  const std::string& exp_name() const { return context_.exp_name; }
  const std::string& timestamp() const { return context_.timestamp; }
  const std::string& env_info() const { return context_.env_info; }
  uint64_t seed() const { return context_.seed; }
  const std::vector<std::string>& classes() const { return context_.classes; }

  int64_t epoch() const { return epoch_; }            // 0-based
  int64_t iter() const { return iter_; }              // 0-based, of the whole run
  int64_t inner_iter() const { return inner_iter_; }  // 0-based, of the epoch
  int64_t epoch_length() const { return epoch_length_; }
  virtual int64_t max_epochs() const = 0;  // 0: not counted in epochs
  virtual int64_t max_iters() const = 0;
  bool training() const { return training_; }  // false in a validation stage
  const Batch& batch() const { return batch_; }
  Device model_device() const;  // of the parameters

  bool every_n_epochs(int64_t n) const { return n > 0 && (epoch_ + 1) % n == 0; }
  bool every_n_iters(int64_t n) const { return n > 0 && (iter_ + 1) % n == 0; }
  bool every_n_inner_iters(int64_t n) const { return n > 0 && (inner_iter_ + 1) % n == 0; }
  bool end_of_epoch() const { return inner_iter_ + 1 == epoch_length_; }
  bool inside_iteration() const { return inside_iteration_; }  // iter() is not finished yet

  // A hook has saved checkpoint(): an interrupted run says what it loses.
  void note_checkpoint(const std::string& path);
  // Seconds that the last iteration spent on explaining a skip: no part of a step's time.
  double diagnosis_seconds() const { return diagnosis_seconds_; }

  // What the current iteration can be repeated with, until the next begins.
  Scene scene();
  // The losses of the current iteration as they were, the total last.
  const std::vector<std::pair<std::string, double>>& losses() const { return losses_; }

  // Everything a resumed run needs. Inside an iteration it counts as finished, inside after_train_epoch the
  // epoch does. Collective; what rank 0 gets is to be written.
  Checkpoint checkpoint();

  // What one look at the device tells of an iteration. The host waits once for all of it: a step hook that
  // needs more numbers than the losses asks for them here.
  struct Look {
    std::vector<double> losses;  // each entry of the losses, then their total
    Tensors also;                // the other tensors, on the CPU
    bool own_finite = true;      // this rank's losses
  };
  // The first look of an iteration is collective: it averages the losses over the ranks, so that all see one
  // that is not finite, and stages them for the log.
  Look look(const LossDict& losses, const Tensors& also = {});

  // Runs the tape; faults of a fire drill are put in here, too.
  void backward(const Variable& loss, double seed);
  FireDrill& fire_drill() { return fire_drill_; }

 protected:
  explicit Runner(const ConfigNode& cfg);

  virtual void train_all(const std::vector<WorkflowStep>& workflow) = 0;
  virtual std::string extent() const = 0;  // "max: 12 epochs"
  virtual bool finished() const = 0;       // nothing is left to train

  // One training iteration on batch_, from before_train_iter to the hooks after the verdict; advances iter.
  void train_iter();
  void val_iter();

  template <typename Call>
  void call_hooks(const Call& call) {
    for (const auto& hook : hooks_) call(*hook);
  }

  Batch batch_;
  int64_t epoch_ = 0;
  int64_t iter_ = 0;
  int64_t inner_iter_ = 0;
  int64_t epoch_length_ = 0;
  bool training_ = true;
  bool epoch_finished_ = false;  // while after_train_epoch runs

 private:
  Verdict attempt();
  void stage_losses(const LossDict& losses, const std::vector<double>& numbers);
  [[noreturn]] void throw_interrupted() const;
  void report_explosion();
  void open_black_box();
  BlackBoxEntry black_box_entry() const;
  void finish(BlackBoxEntry& entry, Verdict::Kind kind);
  void commit();
  void roll_back(const NonFiniteEvent& event);
  void snapshot_hooks();
  void restore_hooks();
  void load_hook_states();
  std::string state_name(const Hook& hook) const;

  RunnerContext context_;
  std::unique_ptr<MasterWeights> weights_;
  std::unique_ptr<Optimizer> optimizer_;
  std::vector<std::unique_ptr<Hook>> hooks_;
  std::vector<Priority> priorities_;  // of hooks_
  StepHook* step_hook_ = nullptr;
  LogBuffer log_buffer_;
  std::unique_ptr<SkipMonitor> skips_;
  FireDrill fire_drill_;
  std::map<std::string, StateDict> resumed_hooks_;
  std::map<std::string, StateDict> hook_snapshots_;
  std::string last_checkpoint_;  // "": this run has neither saved nor resumed one
  int64_t saved_iter_ = 0;       // finished iterations in it
  int64_t committed_iters_ = 0;
  int64_t last_committed_ = 0;  // iteration of this run, from 1; 0: none
  std::vector<std::pair<std::string, double>> losses_;
  LossWatch loss_watch_;
  std::unique_ptr<HeadroomWatch> headroom_;
  bool wants_black_box_ = true;
  std::unique_ptr<BlackBox> black_box_;  // null: off, or the disk refuses
  int64_t explosions_ = 0;
  double diagnosis_seconds_ = 0;
  bool inside_iteration_ = false;
  bool looked_ = false;  // at this iteration's losses
  std::atomic<bool> stop_requested_{false};
};

OSPREY_DECLARE_REGISTRY(Runner);

}  // namespace osprey
