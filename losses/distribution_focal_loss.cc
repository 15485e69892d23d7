#include "losses/distribution_focal_loss.h"

#include "core/ops/elementwise.h"
#include "core/ops/losses.h"
#include "core/ops/row_ops.h"

namespace osprey {
namespace {

constexpr int64_t kNothing = -100;  // no distance is ignored

}  // namespace

DistributionFocalLoss::DistributionFocalLoss(const ConfigNode& cfg)
    : reduction_(read_reduction(cfg)), loss_weight_(cfg.get("loss_weight", 1.0, non_negative())) {}

Variable DistributionFocalLoss::forward(const Variable& pred, const Tensor& target,
                                        const LossWeights& weights) const {
  const Variable distance(target.to(pred.dtype()).to(pred.device()));
  const Tensor left = distance.value().to(DType::kI64);
  const Variable left_distance(left.to(pred.dtype())), right_distance = left_distance + 1.0;
  const Tensor right = right_distance.value().to(DType::kI64);
  const Variable loss =
      scale_rows(softmax_cross_entropy(pred, left, kNothing), (right_distance - distance).value()) +
      scale_rows(softmax_cross_entropy(pred, right, kNothing), (distance - left_distance).value());
  return loss_weight_ * weight_reduce_loss(loss, reduction_, weights);
}

OSPREY_REGISTER(Loss, DistributionFocalLoss);

}  // namespace osprey
