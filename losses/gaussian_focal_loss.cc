#include "losses/gaussian_focal_loss.h"

#include "core/ops/elementwise.h"
#include "core/ops/quality_losses.h"

namespace osprey {
namespace {

// A power below 1 has no finite slope at 0.
double read_power(const ConfigNode& cfg, const char* key, double fallback) {
  return cfg.get(key, fallback, at_least(1));
}

}  // namespace

GaussianFocalLoss::GaussianFocalLoss(const ConfigNode& cfg)
    : alpha_(read_power(cfg, "alpha", 2.0)),
      gamma_(read_power(cfg, "gamma", 4.0)),
      reduction_(read_reduction(cfg)),
      loss_weight_(cfg.get("loss_weight", 1.0, non_negative())) {}

Variable GaussianFocalLoss::forward(const Variable& pred, const Tensor& target,
                                    const LossWeights& weights) const {
  return loss_weight_ *
         weight_reduce_loss(gaussian_focal_loss(pred, target, alpha_, gamma_), reduction_, weights);
}

OSPREY_REGISTER(Loss, GaussianFocalLoss);

}  // namespace osprey
