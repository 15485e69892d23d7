#include "hooks/fp16_optimizer_hook.h"

#include "core/base/logging.h"
#include "core/runner/hook_state.h"
#include "core/runner/runner.h"

namespace osprey {
namespace {

DType read_dtype(const ConfigNode& cfg) {
  return cfg.choice("dtype", "f16", {"f16", "bf16"}) == "bf16" ? DType::kBF16 : DType::kF16;
}

// bf16 has f32's range: nothing needs to be lifted.
LossScaler scaler_for(const ConfigNode& cfg, DType dtype) {
  const ConfigNode loss_scale = cfg.find("loss_scale");
  if (dtype == DType::kF16) return LossScaler(loss_scale);
  if (!loss_scale.is_null()) loss_scale.fail("bf16 has the range of f32 and takes no loss_scale");
  return LossScaler(parse_config("loss_scale: 1").find("loss_scale"));
}

std::optional<int> skips_within_scale(const ConfigNode& cfg) {
  const ConfigNode loss_scale = cfg.find("loss_scale");
  if (!loss_scale.is_map() || !loss_scale.has("max_consecutive_skips")) return std::nullopt;
  return loss_scale.get("max_consecutive_skips", 1, positive());
}

}  // namespace

Fp16OptimizerHook::Fp16OptimizerHook(const ConfigNode& cfg)
    : OptimizerHook(cfg),
      dtype_(read_dtype(cfg)),
      loss_scale_text_(cfg.find("loss_scale").to_yaml()),
      scaler_(scaler_for(cfg, dtype_)),
      keep_fp32_(cfg.get("keep_fp32", std::vector<std::string>{})) {
  if (const auto skips = skips_within_scale(cfg)) max_consecutive_skips_ = skips;
  cfg.get("distributed", false);
}

void Fp16OptimizerHook::before_run(Runner& runner) {
  OptimizerHook::before_run(runner);
  runner.weights().convert_model(dtype_, keep_fp32_);
  log_info(precision_table(runner.model(), dtype_, keep_fp32_));
  if (dtype_ == DType::kF16) log_info("loss_scale: " + scaler_.describe());
}

Verdict Fp16OptimizerHook::train_step(Runner& runner, const LossDict& losses) {
  if (window_.lost(runner)) return window_lost();
  // 1. Scale the loss. 2. Backward in half: the gradients come out `scale` times too large. 3. Copy the half
  // gradients to the f32 masters, by name, unscaled (5.) and checked in the same pass. 4. Average the
  // masters' gradients over the ranks: in f32, where the sum of what was finite cannot overflow.
  const double scale = scaler_.scale();
  Outcome outcome = backward(runner, losses, scale);
  // A loss that is not finite before scaling: no scale mends it, so the scaler does not hear of it.
  if (!outcome.bad_losses.empty()) return skip_loss(runner, std::move(outcome), scale);
  if (!outcome.bad_grads.empty()) return overflow(runner, std::move(outcome.bad_grads), outcome.own);
  if (!window_.closes(runner)) return Verdict::accumulating();

  // 6. Clip, step the masters, and round them back into the half weights.
  if (!clip_and_step(runner, outcome.grad_norm)) return overflow(runner, {}, true);
  scaler_.update(/*overflow=*/false);
  return Verdict::committed();
}

Verdict Fp16OptimizerHook::overflow(Runner& runner, std::vector<std::string> parameters, bool own) {
  const double scale = scaler_.scale();
  const bool absorbed = scaler_.dynamic() && !scaler_.at_minimum();
  scaler_.update(/*overflow=*/true);
  return skip(
      runner,
      {.names = std::move(parameters), .loss_scale = scale, .absorbed = absorbed, .on_this_rank = own});
}

int Fp16OptimizerHook::max_absorbed_skips() const {
  return max_consecutive_skips_.value_or(kDefaultSkips + scaler_.search_length());
}

void Fp16OptimizerHook::save_state(StateDict& state) const {
  OptimizerHook::save_state(state);
  const LossScaler::State& s = scaler_.state();
  put_text(state, "loss_scale", loss_scale_text_);
  put_number(state, "cur_scale", s.scale);
  put_number(state, "cur_iter", static_cast<double>(s.iter));
  put_number(state, "last_overflow_iter", static_cast<double>(s.last_overflow_iter));
  put_number(state, "growth_tracker", static_cast<double>(s.growth_tracker));
  put_number(state, "tolerated", static_cast<double>(s.tolerated));
}

void Fp16OptimizerHook::load_state(const StateDict& state) {
  OptimizerHook::load_state(state);
  const auto saved = find_number(state, "cur_scale");
  if (!saved) return;
  if (find_text(state, "loss_scale") != loss_scale_text_) {
    log_warning(str_cat("fp16.loss_scale was edited: config ", scaler_.describe(), ", checkpoint ",
                        scale_text(*saved), ": using config"));
    return;
  }
  const auto integer = [&](const char* key) {
    return static_cast<int64_t>(find_number(state, key).value_or(0));
  };
  scaler_.set_state({*saved, integer("cur_iter"), integer("last_overflow_iter"), integer("growth_tracker"),
                     integer("tolerated")});
}

OSPREY_REGISTER_HOOK(Fp16OptimizerHook);

}  // namespace osprey
