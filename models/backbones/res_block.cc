#include "models/backbones/res_block.h"

#include "core/autograd/checkpoint.h"
#include "core/nn/conv_module.h"
#include "core/ops/elementwise.h"
#include "core/ops/pool2d.h"

namespace osprey {
namespace {

// Width of a bottleneck's inner convolutions: Xie et al., "Aggregated Residual Transformations", Table 1.
int64_t inner_width(const ResBlockSpec& spec) {
  if (spec.groups == 1) return spec.planes;
  return spec.planes * spec.base_width / spec.base_channels * spec.groups;
}

}  // namespace

Downsample::Downsample(const ResBlockSpec& spec, int64_t out_channels)
    : pool_stride_(spec.avg_down ? spec.stride : 0) {
  const int first = spec.avg_down ? 1 : 0;
  const int64_t conv_stride = spec.avg_down ? 1 : spec.stride;
  conv_ = add_child(std::to_string(first),
                    build_conv_layer(spec.conv_cfg, spec.in_channels, out_channels, /*kernel_size=*/1,
                                     Conv2dParams::square(conv_stride, 0), /*bias=*/false));
  norm_ = add_child(std::to_string(first + 1), build_norm_layer(spec.norm_cfg, out_channels).layer);
}

Variable Downsample::forward(const Variable& x) const {
  if (pool_stride_ == 0) return norm_->forward(conv_->forward(x));
  const ModuleScope scope(path());
  const Pool2dParams pool{
      .kernel = pool_stride_, .stride = pool_stride_, .ceil_mode = true, .count_include_pad = false};
  return norm_->forward(conv_->forward(avg_pool2d(x, pool)));
}

void ResidualBlock::add_downsample_if_needed(const ResBlockSpec& spec, int64_t out_channels) {
  if (spec.stride == 1 && spec.in_channels == out_channels) return;
  downsample_ = add_child("downsample", std::make_unique<Downsample>(spec, out_channels));
}

void ResidualBlock::add_rfp_conv_if_needed(const ResBlockSpec& spec, int64_t out_channels) {
  if (spec.rfp_inplanes == 0) return;
  rfp_conv_ = add_child("rfp_conv", std::make_unique<Conv2d>(spec.rfp_inplanes, out_channels, 1));
}

Variable ResidualBlock::run(const Variable& x, const Variable& rfp_feat) const {
  Variable shortcut = downsample_ ? downsample_->forward(x) : x;
  if (rfp_conv_ && rfp_feat.defined()) {
    shortcut = shortcut + cast(rfp_conv_->forward(rfp_feat), shortcut.dtype());
  }
  return branch(x, shortcut);
}

Variable ResidualBlock::forward(const Variable& x, const Variable& rfp_feat) const {
  if (!with_cp_ || !x.requires_grad()) return run(x, rfp_feat);
  Variables inputs{x};
  if (rfp_feat.defined()) inputs.push_back(rfp_feat);
  return checkpoint([this](const Variables& in) { return run(in[0], in.size() > 1 ? in[1] : Variable()); },
                    inputs);
}

BasicBlock::BasicBlock(const ResBlockSpec& spec) : ResidualBlock(spec) {
  const auto conv3x3 = [&](int64_t in_channels, int64_t stride, int64_t dilation) {
    return build_conv_layer(spec.conv_cfg, in_channels, spec.planes, 3,
                            Conv2dParams::square(stride, dilation, dilation), /*bias=*/false);
  };
  NamedNorm norm1 = build_norm_layer(spec.norm_cfg, spec.planes, "1");
  NamedNorm norm2 = build_norm_layer(spec.norm_cfg, spec.planes, "2");
  conv1_ = add_child("conv1", conv3x3(spec.in_channels, spec.stride, spec.dilation));
  norm1_ = add_child(norm1.name, std::move(norm1.layer));
  conv2_ = add_child("conv2", conv3x3(spec.planes, /*stride=*/1, /*dilation=*/1));
  norm2_ = add_child(norm2.name, std::move(norm2.layer));
  add_downsample_if_needed(spec, spec.planes * kExpansion);
  add_rfp_conv_if_needed(spec, spec.planes * kExpansion);
}

Variable BasicBlock::branch(const Variable& x, const Variable& shortcut) const {
  const Variable out = norm1_->forward_relu(conv1_->forward(x));
  return norm2_->forward_relu(conv2_->forward(out), shortcut);
}

Bottleneck::Bottleneck(const ResBlockSpec& spec) : ResidualBlock(spec) {
  const int64_t width = inner_width(spec);
  const int64_t out_channels = spec.planes * kExpansion;
  const int64_t stride1 = spec.caffe_style ? spec.stride : 1;
  const int64_t stride2 = spec.caffe_style ? 1 : spec.stride;
  const bool plain3x3 = spec.conv2_cfg.is_null() || (spec.fallback_on_stride && stride2 != 1);
  const auto conv = [&](const ConfigNode& cfg, int64_t in, int64_t out, int64_t kernel,
                        const Conv2dParams& params) {
    return build_conv_layer(cfg, in, out, kernel, params, /*bias=*/false);
  };
  NamedNorm norm1 = build_norm_layer(spec.norm_cfg, width, "1");
  NamedNorm norm2 = build_norm_layer(spec.norm_cfg, width, "2");
  NamedNorm norm3 = build_norm_layer(spec.norm_cfg, out_channels, "3");
  conv1_ =
      add_child("conv1", conv(spec.conv_cfg, spec.in_channels, width, 1, Conv2dParams::square(stride1, 0)));
  norm1_ = add_child(norm1.name, std::move(norm1.layer));
  conv2_ = add_child("conv2", conv(plain3x3 ? spec.conv_cfg : spec.conv2_cfg, width, width, 3,
                                   Conv2dParams::square(stride2, spec.dilation, spec.dilation, spec.groups)));
  norm2_ = add_child(norm2.name, std::move(norm2.layer));
  conv3_ = add_child("conv3", conv(spec.conv_cfg, width, out_channels, 1, {}));
  norm3_ = add_child(norm3.name, std::move(norm3.layer));
  add_downsample_if_needed(spec, out_channels);
  for (const BlockPlugin& plugin : spec.plugins) add_plugin(plugin, plugin.after == 3 ? out_channels : width);
  add_rfp_conv_if_needed(spec, out_channels);
}

void Bottleneck::add_plugin(const BlockPlugin& plugin, int64_t channels) {
  auto layer = build<PluginLayer>(plugin.cfg.with("in_channels", channels));
  const std::string name = layer->abbreviation() + plugin.cfg.get("postfix", "");
  for (const auto& [present, child] : children()) {
    if (present == name) plugin.cfg.fail(str_cat("there is a '", name, "' in this block; give a postfix"));
  }
  plugins_[plugin.after - 1].push_back(add_child(name, std::move(layer)));
}

Variable Bottleneck::branch(const Variable& x, const Variable& shortcut) const {
  Variable out = norm1_->forward_relu(conv1_->forward(x));
  for (const PluginLayer* plugin : plugins_[0]) out = plugin->forward(out);
  out = norm2_->forward_relu(conv2_->forward(out));
  for (const PluginLayer* plugin : plugins_[1]) out = plugin->forward(out);
  if (plugins_[2].empty()) return norm3_->forward_relu(conv3_->forward(out), shortcut);
  out = norm3_->forward(conv3_->forward(out));
  for (const PluginLayer* plugin : plugins_[2]) out = plugin->forward(out);
  return add_relu(out, cast(shortcut, out.dtype()));
}

}  // namespace osprey
