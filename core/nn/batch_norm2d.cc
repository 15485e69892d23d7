#include "core/nn/batch_norm2d.h"

#include "core/autograd/checkpoint.h"
#include "core/ops/elementwise.h"
#include "core/ops/norm.h"
#include "core/parallel/communicator.h"

namespace osprey {

BatchNorm2d::BatchNorm2d(const ConfigNode& norm_cfg, int64_t num_features, bool over_ranks)
    : NormLayer(num_features),
      running_mean_(add_buffer("running_mean", Tensor::zeros({num_features}, DType::kF32))),
      running_var_(add_buffer("running_var", Tensor::full({num_features}, 1, DType::kF32))),
      num_batches_tracked_(add_buffer("num_batches_tracked", Tensor::zeros({}, DType::kI64))),
      eps_(norm_cfg.get("eps", 1e-5, positive())),
      momentum_(norm_cfg.get("momentum", 0.1, between(0, 1))),
      over_ranks_(over_ranks) {}

void BatchNorm2d::init_weights(uint64_t seed) {
  NormLayer::init_weights(seed);
  running_mean_->value.fill(0);
  running_var_->value.fill(1);
  num_batches_tracked_->value.fill(0);
}

Variable BatchNorm2d::forward(const Variable& x) const {
  const ModuleScope scope(path());
  if (training() && x.numel() > 0 && !recomputing()) count_batch();
  return batch_norm(x, *weight_, *bias_, *running_mean_, *running_var_, training(), momentum_, eps_, ranks());
}

Variable BatchNorm2d::forward_relu(const Variable& x, const Variable& residual) const {
  const ModuleScope scope(path());
  const Variable shortcut = residual.defined() ? cast(residual, x.dtype()) : residual;
  if (training() && x.numel() > 0 && !recomputing()) count_batch();
  return batch_norm_relu(x, *weight_, *bias_, *running_mean_, *running_var_, training(), momentum_, eps_,
                         shortcut, ranks());
}

Communicator* BatchNorm2d::ranks() const { return over_ranks_ ? &world() : nullptr; }

void BatchNorm2d::count_batch() const {
  const int64_t seen = num_batches_tracked_->current().to_vector<int64_t>()[0];
  num_batches_tracked_->staged = Tensor::from<int64_t>({seen + 1}, {});
}

}  // namespace osprey
