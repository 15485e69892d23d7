#include "core/runner/runner.h"

namespace osprey {
namespace {

// mmcv's IterBasedRunner: `max_iters` iterations over data that never ends. Epoch stages run once, around the
// whole; epoch() tells which pass over the data an iteration belongs to.
class IterBasedRunner final : public Runner {
 public:
  explicit IterBasedRunner(const ConfigNode& cfg)
      : Runner(cfg), max_iters_(cfg.get("max_iters", int64_t{0}, non_negative())) {
    if (max_iters_ == 0) cfg["max_iters"].fail("must be > 0");
  }

  int64_t max_epochs() const override { return 0; }
  int64_t max_iters() const override { return max_iters_; }

 protected:
  std::string extent() const override { return str_cat("max: ", max_iters_, " iters"); }
  bool finished() const override { return iter_ >= max_iters_; }

  void train_all(const std::vector<WorkflowStep>& workflow) override {
    BatchSource& first = train_source(workflow);
    epoch_length_ = first.batches_per_epoch();
    epoch_ = iter_ / epoch_length_;
    first.begin_epoch(epoch_, iter_ % epoch_length_);
    call_hooks([&](Hook& hook) { hook.before_epoch(*this); });
    while (iter_ < max_iters_) {
      for (const WorkflowStep& step : workflow) {
        if (!step.train) {
          validate(*step.source, step.count);
          continue;
        }
        for (int64_t i = 0; i < step.count && iter_ < max_iters_; ++i) train_once(*step.source);
      }
    }
    call_hooks([&](Hook& hook) { hook.after_epoch(*this); });
  }

 private:
  static BatchSource& train_source(const std::vector<WorkflowStep>& workflow) {
    for (const WorkflowStep& step : workflow) {
      if (step.train) return *step.source;
    }
    throw UserError("workflow has no ('train', n) step");
  }

  void train_once(BatchSource& source) {
    model().train(true);
    training_ = true;
    epoch_length_ = source.batches_per_epoch();
    epoch_ = iter_ / epoch_length_;
    inner_iter_ = iter_;  // mmcv counts on: `every_n_inner_iters` means iterations here
    if (!source.next(batch_)) {
      source.begin_epoch(epoch_, 0);
      OSPREY_REQUIRE(source.next(batch_), "the training data is empty");
    }
    train_iter();
    throw_if_stopped();
  }

  void validate(BatchSource& source, int64_t count) {
    model().train(false);
    training_ = false;
    source.begin_epoch(0, 0);
    for (inner_iter_ = 0; inner_iter_ < count && source.next(batch_); ++inner_iter_) {
      val_iter();
      throw_if_stopped();
    }
  }

  int64_t max_iters_;
};

OSPREY_REGISTER(Runner, IterBasedRunner);

}  // namespace
}  // namespace osprey
