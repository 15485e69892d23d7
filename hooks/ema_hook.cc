#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/logging.h"
#include "core/ops/elementwise_kernel.h"
#include "core/ops/map.h"
#include "core/runner/hook_state.h"
#include "core/runner/runner.h"

namespace osprey {
namespace {

// Exponential moving average of the f32 masters: average = (1 - m) average + m weight after every `interval`
// committed iterations, m = min(momentum^interval, (1 + iter) / (warm_up + iter)). At the end of an epoch the
// averages change places with the weights, so that checkpoint and evaluation see them; the next epoch swaps
// back. A checkpoint holds both, and which is where: resuming needs nothing else.
// Keys: momentum (2e-4), interval (1), warm_up (100).
class EMAHook final : public Hook {
 public:
  explicit EMAHook(const ConfigNode& cfg)
      : interval_(cfg.get("interval", int64_t{1}, positive())),
        warm_up_(cfg.get("warm_up", int64_t{100}, positive())) {
    momentum_ = std::pow(cfg.get("momentum", 2e-4, between(0, 1)), static_cast<double>(interval_));
    const ConfigNode resume_from = cfg.find("resume_from");
    if (!resume_from.is_null())
      resume_from.fail("the averages are resumed with the run; use --resume-from alone");
  }

  // Ahead of CheckpointHook and EvalHook, which must see the averaged weights.
  Priority priority() const override { return Priority::kAboveNormal; }

  void before_run(Runner& runner) override {
    for (const MasterParameter* master : runner.weights().trainable())
      average_[master->name] = master->value.clone();
  }

  void after_train_iter(Runner& runner) override {  // committed iterations only
    if (!runner.every_n_iters(interval_)) return;
    const double iter = static_cast<double>(runner.iter());
    const double m = std::min(momentum_, (1 + iter) / (static_cast<double>(warm_up_) + iter));
    for (const MasterParameter* master : runner.weights().trainable()) {
      Tensor& average = average_.at(master->name);
      average = map<Lerp>({average, master->value}, m);
    }
  }

  void before_train_epoch(Runner& runner) override {
    if (swapped_) swap(runner);
  }
  void after_train_epoch(Runner& runner) override { swap(runner); }

  void save_state(StateDict& state) const override {
    put_number(state, "swapped", swapped_ ? 1 : 0);
    for (const auto& [name, tensor] : average_) state.put("average." + name, tensor);
  }
  void load_state(const StateDict& state) override {
    swapped_ = find_number(state, "swapped").value_or(0) != 0;
    for (auto& [name, tensor] : average_) {
      if (const Tensor* saved = state.find("average." + name)) {
        tensor.copy_from(saved->to(tensor.device()));
      } else {
        log_warning("EMAHook: the checkpoint has no average of " + name);
      }
    }
  }

 private:
  void swap(Runner& runner) {
    for (MasterParameter* master : runner.weights().trainable()) {
      Tensor& average = average_.at(master->name);
      const Tensor weight = master->value.clone();
      master->value.copy_from(average);
      average = weight;
    }
    runner.weights().copy_to_model();
    swapped_ = !swapped_;
  }

  int64_t interval_;
  int64_t warm_up_;
  double momentum_;
  bool swapped_ = false;                   // the model holds the averages, average_ the weights
  std::map<std::string, Tensor> average_;  // f32, stored layout, by parameter name
};

OSPREY_REGISTER_HOOK(EMAHook);

}  // namespace
}  // namespace osprey
