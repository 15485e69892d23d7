#pragma once

#include "core/nn/module.h"

namespace osprey {

// A layer with a weight and, mostly, a bias: convolutions and linear maps. It computes in the dtype of its
// weight and casts its input to it.
class WeightLayer : public Module {
 public:
  const Parameter& weight() const { return *weight_; }
  Parameter& weight() { return *weight_; }
  Parameter* bias() const { return bias_; }  // null when there is none

  // PyTorch's default: weight and bias uniform within 1 / sqrt(fan_in).
  void init_weights(uint64_t seed) override;

 protected:
  // Parameters "weight" and, when bias_size > 0, "bias", zero until they are drawn or loaded.
  WeightLayer(Shape weight_shape, WeightLayout layout, int64_t bias_size);
  const Variable& bias_variable() const;  // undefined when there is no bias

 private:
  Parameter* weight_;
  Parameter* bias_ = nullptr;
};

// A 2-D convolution of any kind (plain, deformable, weight-standardised).
class ConvLayer : public WeightLayer {
 public:
  // x (n, h, w, in_channels) -> (n, oh, ow, out_channels).
  virtual Variable forward(const Variable& x) const = 0;
  // relu(forward(x)), in one pass over memory where the kind of convolution allows it.
  virtual Variable forward_relu(const Variable& x) const;

 protected:
  using WeightLayer::WeightLayer;
};

}  // namespace osprey
