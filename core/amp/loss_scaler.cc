#include "core/amp/loss_scaler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/strings.h"

namespace osprey {
namespace {

constexpr double kMmcvInitScale = 4294967296.0;  // 2^32, mmcv's LossScaler
constexpr double kGradScalerInitScale = 65536;   // torch.cuda.amp.GradScaler
// The smallest half. A scale below it rounds every gradient to zero, and its inverse overflows f32 in the
// end.
constexpr double kLeastScale = 0x1p-24;

std::vector<std::string> present(const ConfigNode& cfg, const std::vector<std::string>& keys) {
  std::vector<std::string> found;
  for (const std::string& key : keys) {
    if (cfg.has(key)) found.push_back(key);
  }
  return found;
}

double read_scale(const ConfigNode& node) {
  const double scale = node.as<double>();
  if (!(scale >= kLeastScale) || !std::isfinite(scale)) node.fail("a loss scale must be finite and >= 2^-24");
  return scale;
}

}  // namespace

std::string scale_text(double scale) {
  if (scale >= 1 && scale < 0x1p63 && scale == std::floor(scale))
    return std::to_string(static_cast<int64_t>(scale));
  return str_cat(scale);
}

LossScaler::LossScaler(const ConfigNode& loss_scale) : max_(std::numeric_limits<double>::infinity()) {
  if (loss_scale.is_null()) {
    state_.scale = 512;
  } else if (loss_scale.is_map()) {
    read_dict(loss_scale);
  } else if (loss_scale.is<double>()) {
    state_.scale = read_scale(loss_scale);
  } else if (loss_scale.is<std::string>() && loss_scale.as<std::string>() == "dynamic") {
    rule_ = Rule::kMmcv;
    state_.scale = kMmcvInitScale;
    min_ = 1;
  } else {
    loss_scale.fail("must be a number, 'dynamic' or a dict");
  }
  first_scale_ = state_.scale;
}

void LossScaler::read_dict(const ConfigNode& cfg) {
  const auto mmcv = present(cfg, {"mode", "scale_factor", "scale_window"});
  const auto grad_scaler = present(cfg, {"growth_factor", "backoff_factor", "growth_interval", "enabled"});
  if (!mmcv.empty() && !grad_scaler.empty()) {
    cfg.fail("loss_scale mixes mmcv's keys (" + join(mmcv) + ") with GradScaler's (" + join(grad_scaler) +
             "); use one vocabulary");
  }
  if (grad_scaler.empty()) {
    read_mmcv(cfg);
  } else {
    read_grad_scaler(cfg);
  }
  min_ = cfg.get("min", min_, non_negative());
  max_ = cfg.get("max", max_, positive());
  if (max_ < min_) cfg["max"].fail("must not be below min");
  hysteresis_ = cfg.get("hysteresis", int64_t{1}, positive());
  if (cfg.has("init_scale")) state_.scale = read_scale(cfg["init_scale"]);
  if (dynamic()) state_.scale = std::clamp(state_.scale, min_, max_);
}

void LossScaler::read_mmcv(const ConfigNode& cfg) {
  rule_ = cfg.choice("mode", "dynamic", {"dynamic", "static"}) == "static" ? Rule::kStatic : Rule::kMmcv;
  state_.scale = kMmcvInitScale;
  factor_ = cfg.get("scale_factor", 2.0, positive());
  window_ = cfg.get("scale_window", int64_t{1000}, positive());
  min_ = rule_ == Rule::kMmcv ? 1 : 0;
}

void LossScaler::read_grad_scaler(const ConfigNode& cfg) {
  rule_ = Rule::kGradScaler;
  state_.scale = kGradScalerInitScale;
  factor_ = cfg.get("growth_factor", 2.0, positive());
  backoff_ = cfg.get("backoff_factor", 0.5, positive());
  if (backoff_ >= 1) cfg["backoff_factor"].fail("must be < 1");
  window_ = cfg.get("growth_interval", int64_t{2000}, positive());
  if (!cfg.get("enabled", true)) {
    if (cfg.has("init_scale")) cfg["init_scale"].fail("has no effect with enabled: false");
    rule_ = Rule::kStatic;
    state_.scale = 1;
  }
}

void LossScaler::update(bool overflow) {
  if (rule_ == Rule::kStatic) return;
  if (overflow) {
    state_.last_overflow_iter = state_.iter;
    state_.growth_tracker = 0;
    if (++state_.tolerated >= hysteresis_) back_off();
  } else if (rule_ == Rule::kMmcv) {
    if ((state_.iter - state_.last_overflow_iter) % window_ == 0) grow();
  } else if (++state_.growth_tracker == window_) {
    state_.growth_tracker = 0;
    grow();
  }
  ++state_.iter;
}

void LossScaler::back_off() {
  const double lower = rule_ == Rule::kMmcv ? state_.scale / factor_
                                            : static_cast<float>(state_.scale) * static_cast<float>(backoff_);
  state_.scale = std::max(lower, min_);
}

void LossScaler::grow() {
  const double higher = rule_ == Rule::kMmcv ? state_.scale * factor_
                                             : static_cast<float>(state_.scale) * static_cast<float>(factor_);
  if (std::isfinite(higher)) state_.scale = std::min(higher, max_);
  state_.tolerated = 0;
}

int LossScaler::search_length() const {
  if (!dynamic()) return 0;
  const double halvings = std::log2(std::max(first_scale_, 2.0));
  const double per_step = rule_ == Rule::kMmcv ? std::log2(factor_) : -std::log2(backoff_);
  return static_cast<int>(std::ceil(halvings / std::max(per_step, 0.01)) * static_cast<double>(hysteresis_));
}

std::string LossScaler::describe() const {
  if (!dynamic()) return scale_text(state_.scale) + " (static)";
  return str_cat("dynamic from ", scale_text(state_.scale), ", x", factor_, " every ", window_,
                 " clean iterations");
}

}  // namespace osprey
