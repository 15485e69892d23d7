#include "models/plugins/context_block.h"

#include <algorithm>

#include "core/nn/init.h"
#include "core/ops/broadcast.h"
#include "core/ops/elementwise.h"
#include "core/ops/interpolate.h"
#include "core/ops/norm.h"
#include "core/ops/pixel_softmax.h"
#include "core/ops/shape_ops.h"

namespace osprey {

// torch.nn.LayerNorm([planes, 1, 1]): statistics over the channels of each image.
class ContextTransform::LayerNorm final : public Module {
 public:
  explicit LayerNorm(int64_t planes)
      : weight_(add_parameter("weight", Tensor::full({planes, 1, 1}, 1, DType::kF32))),
        bias_(add_parameter("bias", Tensor::zeros({planes, 1, 1}, DType::kF32))) {}
  bool keeps_fp32() const override { return true; }
  void init_weights(uint64_t) override {
    fill_constant(*weight_, 1);
    fill_constant(*bias_, 0);
  }
  Variable forward(const Variable& v) const {
    const ModuleScope scope(path());
    return group_norm(v, reshape(*weight_, {v.dim(3)}), reshape(*bias_, {v.dim(3)}), /*groups=*/1, 1e-5);
  }

 private:
  Parameter *weight_, *bias_;
};

ContextTransform::ContextTransform(int64_t channels, int64_t planes)
    : down_(add_child("0", std::make_unique<Conv2d>(channels, planes, 1))),
      norm_(add_child("1", std::make_unique<LayerNorm>(planes))),
      up_(add_child("3", std::make_unique<Conv2d>(planes, channels, 1))) {}

void ContextTransform::init_weights(uint64_t seed) {
  Module::init_weights(seed);
  constant_init(*up_, 0);
}

Variable ContextTransform::forward(const Variable& v) const {
  return up_->forward(relu(norm_->forward(down_->forward(v))));
}

ContextBlock::ContextBlock(const ConfigNode& cfg) {
  const int64_t channels = cfg.get<int64_t>("in_channels", positive());
  const double ratio = cfg.get<double>("ratio", positive());
  const int64_t planes = static_cast<int64_t>(static_cast<double>(channels) * ratio);
  if (planes < 1) cfg["ratio"].fail(str_cat(ratio, " of ", channels, " channels leaves none"));
  if (cfg.choice("pooling_type", "att", {"att", "avg"}) == "att") {
    conv_mask_ = add_child("conv_mask", std::make_unique<Conv2d>(channels, 1, 1));
  }
  const auto fusions = cfg.get("fusion_types", std::vector<std::string>{"channel_add"});
  for (const std::string& fusion : fusions) {
    if (fusion != "channel_add" && fusion != "channel_mul") {
      cfg["fusion_types"].fail(str_cat("'", fusion, "' is neither channel_add nor channel_mul"));
    }
  }
  const auto transform = [&](const std::string& fusion) -> ContextTransform* {
    if (std::count(fusions.begin(), fusions.end(), fusion) == 0) return nullptr;
    return add_child(fusion + "_conv", std::make_unique<ContextTransform>(channels, planes));
  };
  channel_add_conv_ = transform("channel_add");
  channel_mul_conv_ = transform("channel_mul");
  if (fusions.empty()) cfg["fusion_types"].fail("needs channel_add, channel_mul or both");
}

void ContextBlock::init_weights(uint64_t seed) {
  Module::init_weights(seed);
  if (conv_mask_) kaiming_init(*conv_mask_, seed, {.mode = FanMode::kFanIn});
}

// The mean, or the mean of the pixels times their weights, which sum to one.
Variable ContextBlock::pool(const Variable& x) const {
  if (!conv_mask_) return image_mean(x);
  const DType dtype =
      x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;  // weights of many pixels are small
  const Variable weights = cast(pixel_softmax(conv_mask_->forward(x)), dtype);
  const Variable wide = cast(x, dtype);
  const Variable weighted = blend(wide, Tensor::zeros_like(wide.value()), weights);
  return cast(static_cast<double>(x.dim(1) * x.dim(2)) * image_mean(weighted), x.dtype());
}

Variable ContextBlock::forward(const Variable& x) const {
  const ModuleScope scope(path());
  const Variable context = pool(x);
  Variable out = x;
  if (channel_mul_conv_) {
    const Variable factor = cast(sigmoid(channel_mul_conv_->forward(context)), x.dtype());
    out = out * upsample_nearest(factor, x.dim(1), x.dim(2));
  }
  if (channel_add_conv_) out = add_per_image(out, cast(channel_add_conv_->forward(context), x.dtype()));
  return out;
}

OSPREY_REGISTER(PluginLayer, ContextBlock);

}  // namespace osprey
