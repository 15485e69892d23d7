#pragma once

#include <cstdint>
#include <string>

#include "core/config/config.h"

namespace osprey {

// A loss scale for the log: "4294967296", never "4.29497e+09".
std::string scale_text(double scale);

// The factor on the loss that lifts small gradients into half's range, and how it follows overflows.
//
// `loss_scale` in YAML: absent or null: static 512; a number (`512.` or `512`): static; 'dynamic': mmcv's
// rule from 2^32; or a dict in one of two vocabularies:
//   mmcv         init_scale, mode (dynamic | static), scale_factor, scale_window
//   GradScaler   init_scale, growth_factor, backoff_factor, growth_interval, enabled
// and with either: min, max, hysteresis (overflows in a row, counted since the last growth, before the scale
// gives way), max_consecutive_skips (read by the hook). Mixed vocabularies are an error.
class LossScaler {
 public:
  explicit LossScaler(const ConfigNode& loss_scale);

  double scale() const { return state_.scale; }
  bool dynamic() const { return rule_ != Rule::kStatic; }
  bool at_minimum() const { return state_.scale <= min_; }

  // After each optimizer step that was taken or skipped for an overflow.
  //   mmcv: overflow -> max(scale / factor, min); every scale_window iterations after the last one -> *
  //   factor. GradScaler: overflow -> * backoff, else after growth_interval clean steps -> * growth, in f32.
  // Growth stops at `max`, and where it would give inf. Static scales never move.
  void update(bool overflow);

  struct State {
    double scale = 512;
    int64_t iter = 0;                 // updates so far (mmcv's cur_iter)
    int64_t last_overflow_iter = -1;  // mmcv's rule
    int64_t growth_tracker = 0;       // GradScaler's rule
    int64_t tolerated = 0;            // overflows that hysteresis has let pass since the last growth
  };
  const State& state() const { return state_; }
  void set_state(const State& state) { state_ = state; }

  // Skips that a search from the first scale down to 1 may take.
  int search_length() const;
  // "512 (static)", "dynamic from 65536, x2 every 2000 iterations".
  std::string describe() const;

 private:
  enum class Rule { kStatic, kMmcv, kGradScaler };

  void read_dict(const ConfigNode& cfg);
  void read_mmcv(const ConfigNode& cfg);
  void read_grad_scaler(const ConfigNode& cfg);
  void back_off();
  void grow();

  Rule rule_ = Rule::kStatic;
  double factor_ = 2;     // growth
  double backoff_ = 0.5;  // GradScaler's rule; mmcv divides by factor_
  int64_t window_ = 1000;
  double min_ = 0;
  double max_;
  int64_t hysteresis_ = 1;
  State state_;
  double first_scale_;
};

}  // namespace osprey
