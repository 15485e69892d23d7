#include "core/nn/conv_module.h"

#include <type_traits>

#include "core/nn/conv2d.h"
#include "core/nn/conv_aws2d.h"
#include "core/nn/conv_ws2d.h"
#include "core/nn/deform_conv2d_pack.h"
#include "core/nn/init.h"
#include "core/nn/modulated_deform_conv2d_pack.h"
#include "core/nn/sa_conv2d.h"
#include "core/ops/elementwise.h"

namespace osprey {

Activation read_activation(const ConfigNode& cfg, const std::string& key, Activation fallback) {
  if (!cfg.has(key)) return fallback;
  const ConfigNode act_cfg = cfg.find(key);
  if (act_cfg.is_null()) return Activation::kNone;
  const std::string type = act_cfg.choice("type", "ReLU", {"ReLU", "Sigmoid"});
  act_cfg.get("inplace", true);  // a hint to PyTorch's allocator, without meaning here
  return type == "ReLU" ? Activation::kReLU : Activation::kSigmoid;
}

Variable activate(const Variable& x, Activation activation) {
  switch (activation) {
    case Activation::kReLU:
      return relu(x);
    case Activation::kSigmoid:
      return sigmoid(x);
    case Activation::kNone:
      break;
  }
  return x;
}

std::unique_ptr<ConvLayer> build_conv_layer(const ConfigNode& conv_cfg, int64_t in_channels,
                                            int64_t out_channels, int64_t kernel_size,
                                            const Conv2dParams& params, bool bias) {
  const std::string type =
      conv_cfg.is_null()
          ? "Conv2d"
          : conv_cfg.choice("type", "Conv2d", {"Conv2d", "Conv", "ConvWS", "ConvAWS", "DCN", "DCNv2", "SAC"});
  const auto make = [&]<typename Layer>(std::type_identity<Layer>, const auto&... cfg) {
    return std::make_unique<Layer>(cfg..., in_channels, out_channels, kernel_size, params, bias);
  };
  if (type == "ConvWS") return make(std::type_identity<ConvWS2d>());
  if (type == "ConvAWS") return make(std::type_identity<ConvAWS2d>());
  if (type == "DCN") return make(std::type_identity<DeformConv2dPack>(), conv_cfg);
  if (type == "DCNv2") return make(std::type_identity<ModulatedDeformConv2dPack>(), conv_cfg);
  if (type == "SAC") return make(std::type_identity<SAConv2d>(), conv_cfg);
  return make(std::type_identity<Conv2d>());
}

ConvModuleCfg ConvModuleCfg::from(const ConfigNode& cfg, Activation fallback) {
  return {cfg.find("conv_cfg"), cfg.find("norm_cfg"), read_activation(cfg, "act_cfg", fallback)};
}

ConvModule::ConvModule(int64_t in_channels, int64_t out_channels, int64_t kernel_size,
                       const Conv2dParams& params, const ConvModuleCfg& cfg)
    : conv_(add_child("conv", build_conv_layer(cfg.conv_cfg, in_channels, out_channels, kernel_size, params,
                                               /*bias=*/cfg.norm_cfg.is_null()))),
      activation_(cfg.activation) {
  if (cfg.norm_cfg.is_null()) return;
  NamedNorm norm = build_norm_layer(cfg.norm_cfg, out_channels);
  norm_ = add_child(norm.name, std::move(norm.layer));
}

Variable ConvModule::forward(const Variable& x) const {
  if (!norm_ && activation_ == Activation::kReLU) return conv_->forward_relu(x);
  const Variable y = conv_->forward(x);
  if (norm_ && activation_ == Activation::kReLU) return norm_->forward_relu(y);
  const ModuleScope scope(path());
  return activate(norm_ ? norm_->forward(y) : y, activation_);
}

void ConvModule::init_weights(uint64_t seed) {
  Module::init_weights(seed);
  kaiming_init(*conv_, seed);
}

Variable forward_through(const ModuleList<ConvModule>& convs, Variable x) {
  for (const ConvModule* conv : convs) x = conv->forward(x);
  return x;
}

}  // namespace osprey
