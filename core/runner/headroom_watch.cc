#include "core/runner/headroom_watch.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/amp/loss_scaler.h"
#include "core/autograd/op_inputs.h"
#include "core/base/logging.h"
#include "core/runner/runner.h"

namespace osprey {
namespace {

constexpr size_t kRows = 12;

std::string with_digit(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

bool scale_is_static(const ConfigNode& root) {
  const ConfigNode fp16 = root.find("fp16");
  return fp16.is_map() && !LossScaler(fp16.find("loss_scale")).dynamic();
}

}  // namespace

HeadroomWatch::HeadroomWatch(const ConfigNode& root) : interval_(500) {
  const ConfigNode debug = root.find("debug");
  if (!debug.is_null()) interval_ = debug.get("headroom_interval", interval_, non_negative());
}

// A fire drill watches the ops of its iteration itself.
void HeadroomWatch::begin(Runner& runner) {
  const bool half = runner.weights().precision() == DType::kF16;
  watching_ = half && interval_ > 0 && runner.iter() % interval_ == 0 && !runner.fire_drill().armed();
  if (!watching_) return;
  meter_ = HeadroomMeter();
  set_op_observer([this](const OpEvent& event) { see(event); });
}

// The gradient that an op is handed may be a sum, and larger than its parts; it is new unless it is what the
// op before has just made.
void HeadroomWatch::see(const OpEvent& event) {
  for (const Tensor& read : event.backward ? observed_inputs() : Tensors()) {
    const bool known =
        newest_.defined() && read.shares_storage(newest_) && read.storage()->version() == newest_version_;
    if (!known) meter_.see(event.module_path, true, read);
  }
  meter_.see(event.module_path, event.backward, event.value);
  newest_ = event.value;
  newest_version_ = newest_.storage()->version();
}

void HeadroomWatch::see_gradients(Module& model) {
  if (watching_) meter_.see_gradients(model);
}

void HeadroomWatch::end(Runner& runner, bool committed) {
  if (!watching_) return;
  set_op_observer(nullptr);
  watching_ = false;
  newest_ = Tensor();
  if (!committed || meter_.empty()) return;
  last_ = meter_.rooms();
  last_iter_ = runner.iter() + 1;
  const Tightest activations = tightest_above(last_, false), gradients = tightest_above(last_, true);
  const Tightest low = tightest_below(last_);
  const Tightest& high =
      gradients.room == nullptr || (activations.room != nullptr && activations.binades < gradients.binades)
          ? activations
          : gradients;
  if (high.room != nullptr) runner.log_buffer().put("overflow_binades", high.binades);
  if (low.room != nullptr) runner.log_buffer().put("underflow_binades", low.binades);
  if (high.room != nullptr) warn(runner, high);
}

void HeadroomWatch::warn(Runner& runner, const Tightest& tightest) {
  constexpr int64_t kMostWarnings = 5;
  const double scale = runner.step_hook().loss_scale();
  if (tightest.binades >= 1 || (tightest.gradients && !scale_is_static(runner.config()))) return;
  if (++warnings_ > kMostWarnings) return;
  const std::string& module = tightest.room->module;
  const std::string cure = tightest.gradients
                               ? str_cat("fp16.loss_scale=", scale_text(std::max(1.0, scale / 4)))
                               : "fp16.keep_fp32=[" + module + "]";
  log_warning(str_cat("headroom: ", tightest.gradients ? "gradients" : "activations", " come within ",
                      with_digit(tightest.binades), " binades of half's overflow in ", module,
                      " at iteration ", last_iter_, " (loss_scale ", scale_text(scale), "). Cure: ", cure));
}

void HeadroomWatch::report() const {
  if (last_.empty()) return;
  log_info(
      str_cat("headroom in half at iteration ", last_iter_, ", in binades:\n", headroom_table(last_, kRows)));
}

}  // namespace osprey
