#include <cmath>

#include "core/runner/hook.h"
#include "core/runner/hook_state.h"
#include "core/runner/runner.h"

namespace osprey {
namespace {

// Logs by how much the weights have grown since the run began, as `weight_growth`: the L2 norm of all
// trainable weights (of the f32 masters, in half precision) over what it was. A number that keeps rising
// announces a divergence while the loss still looks well.
//   custom_hooks: [{type: WeightGrowthHook, interval: 10}]
class WeightGrowthHook final : public Hook {
 public:
  // interval (10): iterations between measurements.
  explicit WeightGrowthHook(const ConfigNode& cfg)
      : interval_(cfg.get("interval", int64_t{10}, positive())) {}

  void before_run(Runner& runner) override { initial_norm_ = weight_norm(runner); }

  void after_train_iter(Runner& runner) override {  // committed iterations only
    if (!runner.every_n_iters(interval_)) return;
    runner.log_buffer().put("weight_growth", weight_norm(runner) / initial_norm_);
  }

  // A resumed run goes on comparing with the weights of the first start.
  void save_state(StateDict& state) const override { put_number(state, "initial_norm", initial_norm_); }
  void load_state(const StateDict& state) override {
    initial_norm_ = find_number(state, "initial_norm").value_or(initial_norm_);
  }

 private:
  static double weight_norm(Runner& runner) {
    double squares = 0;
    for (const MasterParameter* weight : runner.weights().trainable()) {
      for (const float value : weight->value.to_vector<float>()) squares += double{value} * value;
    }
    return std::sqrt(squares);
  }

  int64_t interval_;
  double initial_norm_ = 1;
};

OSPREY_REGISTER_HOOK(WeightGrowthHook);

}  // namespace
}  // namespace osprey
