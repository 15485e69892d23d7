#include "core/nn/deform_conv2d_pack.h"

#include "core/nn/init.h"
#include "core/nn/input_check.h"

namespace osprey {
namespace {

// `from` under the name `to`, in its place.
StateDict renamed(const StateDict& state, const std::string& from, const std::string& to) {
  StateDict result;
  for (const auto& [name, tensor] : state.entries()) result.put(name == from ? to : name, tensor);
  return result;
}

// mmdetection 1 wrote deformable_groups.
int64_t read_deform_groups(const ConfigNode& cfg, int64_t in_channels) {
  const std::string key = cfg.has("deformable_groups") ? "deformable_groups" : "deform_groups";
  const int64_t groups = cfg.get(key, int64_t{1}, positive());
  if (in_channels % groups != 0) {
    cfg[key].fail(str_cat(in_channels, " input channels do not divide into ", groups, " deform groups"));
  }
  return groups;
}

}  // namespace

DeformLayer::DeformLayer(const ConfigNode& conv_cfg, int64_t in_channels, int64_t out_channels,
                         int64_t kernel_size, const Conv2dParams& params, bool bias, int64_t values_per_tap)
    : ConvLayer({out_channels, kernel_size, kernel_size, in_channels / params.groups}, {WeightLayout::kConv},
                bias ? out_channels : 0),
      params_{params, read_deform_groups(conv_cfg, in_channels)} {
  conv_cfg.get("im2col_step", int64_t{32});  // how mmcv cuts its batches; changes no result
  Conv2dParams window = params;
  window.groups = 1;
  conv_offset_ = add_child(
      "conv_offset", std::make_unique<Conv2d>(in_channels, values_per_tap * samples(), kernel_size, window));
}

int64_t DeformLayer::samples() const {
  const Shape& shape = weight().variable.shape();
  return params_.deform_groups * shape[1] * shape[2];
}

void DeformLayer::init_weights(uint64_t seed) {
  ConvLayer::init_weights(seed);
  constant_init(*conv_offset_, 0);
}

void DeformLayer::upgrade_state(const std::string& prefix, StateDict& state) const {
  if (prefix.empty()) return;
  const std::string old_prefix = prefix.substr(0, prefix.size() - 1) + "_offset.";
  for (const char* name : {"weight", "bias"}) {
    const std::string present = prefix + "conv_offset." + name;
    if (state.find(present) || !state.find(old_prefix + name)) continue;
    state = renamed(state, old_prefix + name, present);
  }
}

Variable DeformLayer::look(const Variable& x) const {
  check_input_features(*this, "channels", weight().variable.dim(3) * params_.conv.groups, x.shape().back());
  return conv_offset_->forward(x);
}

DeformConv2dPack::DeformConv2dPack(const ConfigNode& conv_cfg, int64_t in_channels, int64_t out_channels,
                                   int64_t kernel_size, const Conv2dParams& params, bool bias)
    : DeformLayer(conv_cfg, in_channels, out_channels, kernel_size, params, /*bias=*/false,
                  /*values_per_tap=*/2) {
  if (bias) conv_cfg.fail("DCN has no bias: put a norm_cfg behind it, or take DCNv2");
}

Variable DeformConv2dPack::forward(const Variable& x) const {
  const ModuleScope scope(path());
  return deform_conv2d(x, look(x), weight(), params_);
}

}  // namespace osprey
