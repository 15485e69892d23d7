#include "core/amp/sum_gradients.h"

namespace osprey {

void sum_gradients(const MasterWeights& weights, const BucketOptions& options) {
  if (world().size() == 1) return;
  const std::vector<MasterParameter*> masters = weights.trainable();
  std::vector<double> used;
  for (const MasterParameter* master : masters) used.push_back(master->grad.defined() ? 1 : 0);
  world().all_reduce(used, Communicator::Reduce::kMax);
  Tensors gradients;
  for (size_t i = 0; i < masters.size(); ++i) {
    if (used[i] == 0) continue;
    if (!masters[i]->grad.defined()) masters[i]->grad = Tensor::zeros_like(masters[i]->value);
    gradients.push_back(masters[i]->grad);
  }
  all_reduce_in_buckets(gradients, options);
}

}  // namespace osprey
