#include "core/runner/runner.h"

namespace osprey {
namespace {

// mmcv's EpochBasedRunner: `max_epochs` passes over the data. A run that was saved inside an epoch continues
// at the batch after the last finished one.
class EpochBasedRunner final : public Runner {
 public:
  explicit EpochBasedRunner(const ConfigNode& cfg)
      : Runner(cfg), max_epochs_(cfg.get("max_epochs", int64_t{0}, non_negative())) {
    if (max_epochs_ == 0) cfg["max_epochs"].fail("must be > 0");
  }

  int64_t max_epochs() const override { return max_epochs_; }
  int64_t max_iters() const override { return max_epochs_ * epoch_length_; }

 protected:
  std::string extent() const override { return str_cat("max: ", max_epochs_, " epochs"); }
  bool finished() const override { return epoch_ >= max_epochs_; }

  void train_all(const std::vector<WorkflowStep>& workflow) override {
    while (epoch_ < max_epochs_) {
      for (const WorkflowStep& step : workflow) {
        for (int64_t i = 0; i < step.count; ++i) {
          if (!step.train) {
            val_epoch(*step.source);
          } else if (epoch_ < max_epochs_) {
            train_epoch(*step.source);
          }
        }
      }
    }
  }

 private:
  void train_epoch(BatchSource& source) {
    model().train(true);
    training_ = true;
    epoch_length_ = source.batches_per_epoch();
    inner_iter_ = iter_ - epoch_ * epoch_length_;  // not 0 when resumed inside the epoch
    if (inner_iter_ < 0 || inner_iter_ > epoch_length_) inner_iter_ = 0;  // the data set has changed its size
    source.begin_epoch(epoch_, inner_iter_);
    call_hooks([&](Hook& hook) { hook.before_train_epoch(*this); });
    for (; source.next(batch_); ++inner_iter_) {
      train_iter();
      throw_if_stopped();
    }
    inner_iter_ = epoch_length_ - 1;
    epoch_finished_ = true;
    call_hooks([&](Hook& hook) { hook.after_train_epoch(*this); });
    epoch_finished_ = false;
    ++epoch_;
  }

  void val_epoch(BatchSource& source) {
    model().train(false);
    training_ = false;
    epoch_length_ = source.batches_per_epoch();
    source.begin_epoch(0, 0);
    call_hooks([&](Hook& hook) { hook.before_val_epoch(*this); });
    for (inner_iter_ = 0; source.next(batch_); ++inner_iter_) {
      val_iter();
      throw_if_stopped();
    }
    call_hooks([&](Hook& hook) { hook.after_val_epoch(*this); });
  }

  int64_t max_epochs_;
};

OSPREY_REGISTER(Runner, EpochBasedRunner);

}  // namespace
}  // namespace osprey
