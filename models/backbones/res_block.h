#pragma once

#include <memory>

#include "core/config/config.h"
#include "core/nn/norm_layer.h"
#include "core/nn/weight_layer.h"

namespace osprey {

// One residual block of a stage.
struct ResBlockSpec {
  int64_t in_channels = 0;
  int64_t planes = 0;  // width of the 3x3 convolution of a plain ResNet; the output has planes * expansion
  int64_t stride = 1, dilation = 1;
  int64_t groups = 1, base_width = 4, base_channels = 64;  // ResNeXt; groups 1 ignores the other two
  bool caffe_style = false;  // the stride sits in the first 1x1 convolution, not in the 3x3 one
  bool avg_down = false;     // ResNet-D: the shortcut averages, then projects with stride 1
  bool with_cp = false;      // forget the inside and recompute it in backward
  ConfigNode conv_cfg, norm_cfg;
};

// The projection of a shortcut whose shape changes. Children as in torch's Sequential: with avg_down "1", "2"
// (the pooling takes "0"), else "0", "1".
class Downsample final : public Module {
 public:
  Downsample(const ResBlockSpec& spec, int64_t out_channels);
  Variable forward(const Variable& x) const;

 private:
  int64_t pool_stride_;  // 0 = no pooling
  ConvLayer* conv_;
  NormLayer* norm_;
};

// x + F(x), He et al., "Deep Residual Learning", Fig. 5.
class ResidualBlock : public Module {
 public:
  Variable forward(const Variable& x) const;  // (n, h, w, in_channels) -> (n, oh, ow, planes * expansion)
  // The norm that ends the residual branch: zero_init_residual starts it at 0.
  virtual NormLayer& last_norm() = 0;

 protected:
  explicit ResidualBlock(const ResBlockSpec& spec) : with_cp_(spec.with_cp) {}
  void add_downsample_if_needed(const ResBlockSpec& spec, int64_t out_channels);
  virtual Variable branch(const Variable& x, const Variable& shortcut) const = 0;

 private:
  Variable run(const Variable& x) const;

  bool with_cp_;
  Downsample* downsample_ = nullptr;
};

// Fig. 5 left: 3x3, 3x3.
class BasicBlock final : public ResidualBlock {
 public:
  static constexpr int64_t kExpansion = 1;
  explicit BasicBlock(const ResBlockSpec& spec);
  NormLayer& last_norm() override { return *norm2_; }

 private:
  Variable branch(const Variable& x, const Variable& shortcut) const override;
  ConvLayer *conv1_, *conv2_;
  NormLayer *norm1_, *norm2_;
};

// Fig. 5 right: 1x1, 3x3, 1x1.
class Bottleneck final : public ResidualBlock {
 public:
  static constexpr int64_t kExpansion = 4;
  explicit Bottleneck(const ResBlockSpec& spec);
  NormLayer& last_norm() override { return *norm3_; }

 private:
  Variable branch(const Variable& x, const Variable& shortcut) const override;
  ConvLayer *conv1_, *conv2_, *conv3_;
  NormLayer *norm1_, *norm2_, *norm3_;
};

}  // namespace osprey
