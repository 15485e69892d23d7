#pragma once

#include <string>
#include <vector>

#include "core/amp/loss_scaler.h"
#include "core/tensor/dtype.h"
#include "hooks/optimizer_hook.h"

namespace osprey {

// Mixed precision training with f32 master weights (Micikevicius et al. 2018), for f16 and bf16. The bare key
// `fp16` in a config puts it in the place of OptimizerHook, with optimizer_config's keys.
//
// A static scale is checked like a dynamic one (mmcv does not: that is how its runs go NaN): an overflow
// rolls the iteration back and the warning names the layer and the largest safe scale.
//
// Keys: those of OptimizerHook; loss_scale (see LossScaler; 512); keep_fp32: globs over module paths; dtype:
// f16 | bf16, where bf16 takes no loss_scale; distributed: set by mmdetection, no matter here.
class Fp16OptimizerHook : public OptimizerHook {
 public:
  explicit Fp16OptimizerHook(const ConfigNode& cfg);

  void before_run(Runner& runner) override;  // converts the model
  Verdict train_step(Runner& runner, const LossDict& losses) override;
  double loss_scale() const override { return scaler_.scale(); }
  int max_absorbed_skips() const override;
  void save_state(StateDict& state) const override;
  void load_state(const StateDict& state) override;

 private:
  // own: this rank's gradients are among those that overflowed.
  Verdict overflow(Runner& runner, std::vector<std::string> parameters, bool own);

  DType dtype_;
  std::string loss_scale_text_;  // as configured: an edited loss_scale wins over a checkpoint's state
  LossScaler scaler_;
  std::vector<std::string> keep_fp32_;
};

}  // namespace osprey
