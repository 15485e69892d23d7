#pragma once

#include <memory>

#include "core/config/config.h"
#include "core/nn/conv2d.h"
#include "core/nn/norm_layer.h"
#include "core/nn/weight_layer.h"
#include "models/plugins/plugin_layer.h"

namespace osprey {

// An entry of `plugins` for one stage.
struct BlockPlugin {
  ConfigNode cfg;  // of the layer; in_channels is the block's to fill in
  int after = 1;   // 1, 2, 3: behind that convolution's norm and, but for the last, its ReLU
};

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
  ConfigNode conv2_cfg;              // of a bottleneck's 3x3 convolution (dcn, sac); null: conv_cfg
  bool fallback_on_stride = false;   // conv_cfg also where the 3x3 convolution has a stride
  std::vector<BlockPlugin> plugins;  // of a bottleneck
  int64_t rfp_inplanes = 0;          // channels of the features that come back from the neck; 0 = none do
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
  // x (n, h, w, in_channels) -> (n, oh, ow, planes * expansion). rfp_feat (n, oh, ow, rfp_inplanes), or
  // undefined: joins the sum through child "rfp_conv" (Qiao et al., "DetectoRS", Fig. 3a) where there is one.
  Variable forward(const Variable& x, const Variable& rfp_feat = {}) const;
  Conv2d* rfp_conv() const { return rfp_conv_; }  // null unless rfp_inplanes is given
  // The norm that ends the residual branch: zero_init_residual starts it at 0.
  virtual NormLayer& last_norm() = 0;

 protected:
  explicit ResidualBlock(const ResBlockSpec& spec) : with_cp_(spec.with_cp) {}
  // What else reaches the sum.
  void add_downsample_if_needed(const ResBlockSpec& spec, int64_t out_channels);
  void add_rfp_conv_if_needed(const ResBlockSpec& spec, int64_t out_channels);
  virtual Variable branch(const Variable& x, const Variable& shortcut) const = 0;

 private:
  Variable run(const Variable& x, const Variable& rfp_feat) const;

  bool with_cp_;
  Downsample* downsample_ = nullptr;
  Conv2d* rfp_conv_ = nullptr;
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
  void add_plugin(const BlockPlugin& plugin, int64_t channels);

  ConvLayer *conv1_, *conv2_, *conv3_;
  NormLayer *norm1_, *norm2_, *norm3_;
  std::vector<PluginLayer*> plugins_[3];  // behind each convolution
};

}  // namespace osprey
