#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/optim/clip_grad.h"
#include "core/parallel/gradient_buckets.h"
#include "core/runner/step_hook.h"
#include "hooks/accumulation_window.h"

namespace osprey {

// `optimizer_config: {grad_clip: {max_norm, norm_type}}`: backward, clip, step, in f32. The norm before
// clipping is logged as grad_norm, clipped or not.
// With several ranks the gradients are averaged where an accumulation window closes, behind backward; whether
// they are finite is settled together, so that all ranks step or none.
// Keys: grad_clip; max_consecutive_skips (10): so many iterations in a row without a finite gradient end the
// run; coalesce (true), bucket_size_mb (-1): how gradients travel between ranks, see BucketOptions.
class OptimizerHook : public StepHook {
 public:
  explicit OptimizerHook(const ConfigNode& cfg);

  void before_run(Runner& runner) override;
  Verdict train_step(Runner& runner, const LossDict& losses) override;
  int max_consecutive_skips() const override { return max_consecutive_skips_.value_or(kDefaultSkips); }
  double loss_factor(const Runner& runner) const override {
    return static_cast<double>(window_.loss_factor(runner));
  }
  void save_state(StateDict& state) const override;
  void load_state(const StateDict& state) override;

 protected:
  static constexpr int kDefaultSkips = 10;

  // What a backward pass came to.
  struct Outcome {
    std::vector<std::string> bad_losses, bad_grads;  // names of what is not finite
    double grad_norm = 0;                            // before clipping, where a window closes
    bool own = true;                                 // what is not finite is (also) this rank's
  };
  // Backward, and the masters' gradients. On CUDA the host waits once, behind all of it; on the CPU a loss
  // that is not finite ends it before the tape runs.
  Outcome backward(Runner& runner, const LossDict& losses, double loss_scale);
  // A skip that also costs the rest of the accumulation window.
  Verdict skip(Runner& runner, NonFiniteEvent event);
  Verdict skip_loss(Runner& runner, Outcome outcome, double loss_scale);
  static Verdict window_lost();
  // Clips and steps the masters, logs grad_norm, rounds the masters into the model. The gradients are finite.
  // False, with nothing changed, when their norm is not.
  bool clip_and_step(Runner& runner, double norm);

  GradClip grad_clip_;
  std::optional<int> max_consecutive_skips_;
  BucketOptions buckets_;
  AccumulationWindow window_;
  Runner* runner_ = nullptr;  // set by before_run()

 private:
  static Tensor sum_marks(const Tensor& own);
  // The loss terms that are not finite; numbers: theirs, then the total's.
  static std::vector<std::string> nonfinite_losses(const LossDict& losses,
                                                   const std::vector<double>& numbers);
};

}  // namespace osprey
