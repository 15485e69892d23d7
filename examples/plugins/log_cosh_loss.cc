#include <cmath>

#include "core/ops/elementwise.h"
#include "core/ops/losses.h"
#include "losses/loss.h"

namespace osprey {
namespace {

// log(cosh(d)) for box regression: d^2 / 2 near 0 and |d| - log 2 far away, as SmoothL1Loss, but smooth
// everywhere. Chen et al., "Log Hyperbolic Cosine Loss Improves Variational Auto-Encoder" (2018).
//   loss_bbox: {type: LogCoshLoss, loss_weight: 1.0}
class LogCoshLoss final : public Loss {
 public:
  // reduction ("mean"), loss_weight (1).
  explicit LogCoshLoss(const ConfigNode& cfg)
      : reduction_(read_reduction(cfg)), loss_weight_(cfg.get("loss_weight", 1.0)) {}

  // pred, target: (n, 4) box deltas. Scalar, or (n, 4) when reduction is "none".
  Variable forward(const Variable& pred, const Tensor& target, const LossWeights& weights) const override {
    const Variable distance = absolute(pred - Variable(target.to(pred.dtype())));
    return loss_weight_ * weight_reduce_loss(log_cosh(distance), reduction_, weights);
  }

 private:
  // cosh overflows from 89 on in f32; |d| + log(1 + exp(-2 |d|)) - log 2 never does.
  static Variable log_cosh(const Variable& distance) {
    const Variable tail = bce_with_logits(-2.0 * distance, Tensor::zeros_like(distance.value()));
    return distance + tail + -std::log(2.0);
  }

  Reduction reduction_;
  double loss_weight_;
};

OSPREY_REGISTER(Loss, LogCoshLoss);

}  // namespace
}  // namespace osprey
