#pragma once

#include <memory>

#include "core/config/config.h"
#include "core/nn/norm_layer.h"
#include "core/nn/weight_layer.h"
#include "core/ops/conv2d.h"

namespace osprey {

enum class Activation { kNone, kReLU, kSigmoid };
// act_cfg: {type: ReLU | Sigmoid}, null = none, absent = fallback.
Activation read_activation(const ConfigNode& cfg, const std::string& key, Activation fallback);
Variable activate(const Variable& x, Activation activation);

// conv_cfg: null or {type: Conv | Conv2d | ConvWS | ConvAWS | DCN | DCNv2 | SAC, and the type's own keys:
// deform_groups of DCN and DCNv2, use_deform of SAC}. Throws UserError for other kinds.
std::unique_ptr<ConvLayer> build_conv_layer(const ConfigNode& conv_cfg, int64_t in_channels,
                                            int64_t out_channels, int64_t kernel_size,
                                            const Conv2dParams& params, bool bias);

// How a ConvModule is completed.
struct ConvModuleCfg {
  ConfigNode conv_cfg, norm_cfg;  // null: plain convolution, no norm
  Activation activation = Activation::kReLU;

  // Keys conv_cfg, norm_cfg, act_cfg of `cfg`.
  static ConvModuleCfg from(const ConfigNode& cfg, Activation fallback = Activation::kReLU);
};

// mmcv's ConvModule: convolution, norm, activation, in that order. Children "conv" and "bn" or "gn". The
// convolution has a bias exactly when there is no norm (bias='auto').
class ConvModule final : public Module {
 public:
  ConvModule(int64_t in_channels, int64_t out_channels, int64_t kernel_size, const Conv2dParams& params,
             const ConvModuleCfg& cfg);
  // x (n, h, w, in_channels) -> (n, oh, ow, out_channels).
  Variable forward(const Variable& x) const;
  void init_weights(uint64_t seed) override;  // convolution kaiming, norm 1
  ConvLayer& conv() { return *conv_; }

 private:
  ConvLayer* conv_;
  NormLayer* norm_ = nullptr;
  Activation activation_;
};

// x through one module after the other.
Variable forward_through(const ModuleList<ConvModule>& convs, Variable x);

}  // namespace osprey
