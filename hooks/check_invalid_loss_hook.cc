#include "core/runner/runner.h"

namespace osprey {
namespace {

// mmdetection's stop on a loss that is not finite. Iterations with such a loss are rolled back anyway; with
// this hook the first one on a multiple of `interval` ends the run instead of being counted.
// Key: interval (50).
class CheckInvalidLossHook final : public Hook {
 public:
  explicit CheckInvalidLossHook(const ConfigNode& cfg)
      : interval_(cfg.get("interval", int64_t{50}, positive())) {}

  void after_skipped_iter(Runner& runner, const std::string& reason) override {
    const bool loss = runner.skips().last_where() == NonFiniteEvent::Where::kLoss;
    if (loss && runner.every_n_iters(interval_))
      throw Error(str_cat("loss become infinite or NaN! iteration ", runner.iter() + 1, ": ", reason));
  }

 private:
  int64_t interval_;
};

OSPREY_REGISTER_HOOK(CheckInvalidLossHook);

}  // namespace
}  // namespace osprey
