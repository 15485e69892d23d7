#include "losses/box_loss.h"

#include "core/ops/elementwise.h"

namespace osprey {

namespace {

// (n, 4) -> (n).
Tensor mean_of_rows(const Tensor& weight) {
  const Tensor host = weight.to(kCPU).to(DType::kF64);
  Tensor means({host.dim(0)}, DType::kF64);
  for (int64_t i = 0; i < host.dim(0); ++i) {
    const double* row = host.data<double>() + 4 * i;
    means.mutable_data<double>()[i] = (row[0] + row[1] + row[2] + row[3]) / 4;
  }
  return means.to(weight.dtype()).to(weight.device());
}

}  // namespace

BoxLoss::BoxLoss(const ConfigNode& cfg, double default_eps)
    : eps_(cfg.get("eps", default_eps, positive())),
      reduction_(read_reduction(cfg)),
      loss_weight_(cfg.get("loss_weight", 1.0)) {}

Variable BoxLoss::forward(const Variable& pred, const Tensor& target, const LossWeights& weights) const {
  const Variable loss = unreduced(pred, target);
  LossWeights per_box = weights;
  if (weights.weight.defined() && weights.weight.rank() == 2 && loss.value().rank() == 1) {
    OSPREY_REQUIRE(weights.weight.shape() == pred.shape(), "box loss: weight must be (n) or ",
                   to_string(pred.shape()), ", got ", to_string(weights.weight.shape()));
    per_box.weight = mean_of_rows(weights.weight);
  }
  return loss_weight_ * weight_reduce_loss(loss, reduction_, per_box);
}

}  // namespace osprey
