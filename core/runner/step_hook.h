#pragma once

#include <string>
#include <vector>

#include "core/detection/detector.h"
#include "core/runner/hook.h"

namespace osprey {

// Why an iteration cannot commit.
struct NonFiniteEvent {
  enum class Where { kLoss, kGradient } where = Where::kGradient;
  std::vector<std::string> names;  // loss terms, or parameters whose gradient is not finite, in model order
  double loss_scale = 1;
  bool absorbed = false;     // a dynamic scale has given way; nobody needs to act
  bool window_lost = false;  // nothing wrong here: an earlier iteration of the accumulation window was bad
  bool on_this_rank = true;  // of several, whose own losses or gradients are to blame
};

struct Verdict {
  enum class Kind { kCommitted, kAccumulating, kSkipped } kind = Kind::kCommitted;
  NonFiniteEvent event;  // of a skipped iteration

  static Verdict committed() { return {}; }
  static Verdict accumulating() { return {Kind::kAccumulating, {}}; }
  static Verdict skipped(NonFiniteEvent event) { return {Kind::kSkipped, std::move(event)}; }
};

// The hook that turns the losses of an iteration into a step: OptimizerHook, Fp16OptimizerHook and their
// accumulating forms. A runner has exactly one; it acts before any hook's after_train_iter, because it
// decides whether they are called.
class StepHook : public Hook {
 public:
  Priority priority() const override { return Priority::kAboveNormal; }
  StepHook* as_step_hook() override { return this; }

  // Backward, checks, step. Unless the verdict is "committed", weights, masters and optimizer state are
  // bitwise what they were.
  virtual Verdict train_step(Runner& runner, const LossDict& losses) = 0;

  // The scale that the next backward pass will use.
  virtual double loss_scale() const { return 1; }
  // What the loss of the current iteration is divided by: the length of its accumulation window.
  virtual double loss_factor(const Runner&) const { return 1; }
  // Skips in a row after which training stops with a diagnosis: of those that the scaler absorbs, and of
  // others.
  virtual int max_absorbed_skips() const { return max_consecutive_skips(); }
  virtual int max_consecutive_skips() const = 0;
};

}  // namespace osprey
