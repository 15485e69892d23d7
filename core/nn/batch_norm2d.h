#pragma once

#include "core/nn/norm_layer.h"

namespace osprey {

// Ioffe & Szegedy, "Batch Normalization". Buffers running_mean, running_var, num_batches_tracked.
class BatchNorm2d final : public NormLayer {
 public:
  BatchNorm2d(const ConfigNode& norm_cfg, int64_t num_features);  // eps 1e-5, momentum 0.1
  Variable forward(const Variable& x) const override;
  Variable forward_relu(const Variable& x, const Variable& residual = {}) const override;
  void init_weights(uint64_t seed) override;

 private:
  void count_batch() const;

  Buffer* running_mean_;
  Buffer* running_var_;
  Buffer* num_batches_tracked_;
  double eps_, momentum_;
};

}  // namespace osprey
