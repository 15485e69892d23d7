#pragma once

#include "core/nn/norm_layer.h"

namespace osprey {

class Communicator;

// Ioffe & Szegedy, "Batch Normalization". Buffers running_mean, running_var, num_batches_tracked.
class BatchNorm2d final : public NormLayer {
 public:
  // norm_cfg: eps (1e-5), momentum (0.1). over_ranks: statistics of the batches of all ranks (SyncBN).
  BatchNorm2d(const ConfigNode& norm_cfg, int64_t num_features, bool over_ranks = false);
  Variable forward(const Variable& x) const override;
  Variable forward_relu(const Variable& x, const Variable& residual = {}) const override;
  void init_weights(uint64_t seed) override;

 private:
  void count_batch() const;
  Communicator* ranks() const;

  Buffer* running_mean_;
  Buffer* running_var_;
  Buffer* num_batches_tracked_;
  double eps_, momentum_;
  bool over_ranks_;
};

}  // namespace osprey
