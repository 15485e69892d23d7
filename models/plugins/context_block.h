#pragma once

#include "core/config/config.h"
#include "core/nn/conv2d.h"
#include "models/plugins/plugin_layer.h"

namespace osprey {

// 1x1 convolution to `planes`, layer norm over them, ReLU, 1x1 convolution back. Children "0", "1", "3", as
// in torch's Sequential. v (n, 1, 1, channels), same shape out. Starts by giving 0.
class ContextTransform final : public Module {
 public:
  ContextTransform(int64_t channels, int64_t planes);
  Variable forward(const Variable& v) const;
  void init_weights(uint64_t seed) override;

 private:
  class LayerNorm;
  Conv2d* down_;
  LayerNorm* norm_;
  Conv2d* up_;
};

// Cao et al., "GCNet: Non-local Networks Meet Squeeze-Excitation Networks and Beyond", Fig. 4d. One vector
// for the image, by attention over its pixels (pooling_type att) or as their mean (avg), is transformed and
// added to every pixel (fusion_types channel_add) or multiplies it through a sigmoid (channel_mul). Keys:
// in_channels, ratio (planes = in_channels * ratio), pooling_type, fusion_types.
class ContextBlock final : public PluginLayer {
 public:
  explicit ContextBlock(const ConfigNode& cfg);
  Variable forward(const Variable& x) const override;
  void init_weights(uint64_t seed) override;
  std::string abbreviation() const override { return "context_block"; }

 private:
  Variable pool(const Variable& x) const;

  Conv2d* conv_mask_ = nullptr;  // only with pooling_type att
  ContextTransform *channel_add_conv_ = nullptr, *channel_mul_conv_ = nullptr;
};

}  // namespace osprey
