#pragma once

#include <memory>
#include <string>

#include "core/config/config.h"
#include "core/nn/module.h"

namespace osprey {

// A normalisation over channels with parameters "weight" and "bias". Stays in f32 in a half-precision model;
// its result has the dtype of its input.
class NormLayer : public Module {
 public:
  // x (n, h, w, c), same shape out.
  virtual Variable forward(const Variable& x) const = 0;
  // relu(forward(x) + residual); residual may be undefined and is cast to x's dtype.
  virtual Variable forward_relu(const Variable& x, const Variable& residual = {}) const;

  void init_weights(uint64_t seed) override;  // weight 1, bias 0
  bool keeps_fp32() const override { return true; }
  Parameter& weight() { return *weight_; }

 protected:
  explicit NormLayer(int64_t num_features);
  Parameter* weight_;
  Parameter* bias_;
};

struct NamedNorm {
  std::string name;  // "bn" or "gn" and the postfix, as mmcv names the member
  std::unique_ptr<NormLayer> layer;
};
// norm_cfg: {type: BN | SyncBN | GN, requires_grad, eps, momentum, num_groups}. SyncBN is BN over the
// batches of all ranks.
NamedNorm build_norm_layer(const ConfigNode& norm_cfg, int64_t num_features, const std::string& postfix = "");

}  // namespace osprey
