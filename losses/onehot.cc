#include "losses/onehot.h"

namespace osprey {

Tensor expand_onehot_labels(const Tensor& labels, int64_t classes) {
  const Tensor host = labels.to(kCPU).to(DType::kI64);
  Tensor targets = Tensor::zeros({labels.numel(), classes}, DType::kF32);
  float* row = targets.mutable_data<float>();
  for (int64_t i = 0; i < labels.numel(); ++i, row += classes) {
    const int64_t label = host.data<int64_t>()[i];
    if (label >= 0 && label < classes) row[label] = 1;
  }
  return targets;
}

}  // namespace osprey
