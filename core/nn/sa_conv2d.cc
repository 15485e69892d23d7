#include "core/nn/sa_conv2d.h"

#include "core/nn/init.h"
#include "core/ops/broadcast.h"
#include "core/ops/deform_conv2d.h"
#include "core/ops/elementwise.h"
#include "core/ops/pool2d.h"
#include "core/ops/reflect_pad.h"

namespace osprey {
namespace {

constexpr int64_t kWideFactor = 3;  // dilation and padding of the wide branch against the other's

// x plus what the whole image says.
Variable with_context(const Variable& x, const Conv2d& context) {
  return add_per_image(x, cast(context.forward(image_mean(x)), x.dtype()));
}

}  // namespace

SAConv2d::SAConv2d(const ConfigNode& conv_cfg, int64_t in_channels, int64_t out_channels, int64_t kernel_size,
                   const Conv2dParams& params, bool bias)
    : ConvAWS2d(in_channels, out_channels, kernel_size, params, bias),
      weight_diff_(add_parameter("weight_diff", Tensor::zeros(weight().variable.shape(), DType::kF32),
                                 {WeightLayout::kConv})) {
  Conv2dParams strided, window = Conv2dParams::square(1, 1);
  strided.stride_h = window.stride_h = params.stride_h;
  strided.stride_w = window.stride_w = params.stride_w;
  switch_ = add_child("switch", std::make_unique<Conv2d>(in_channels, 1, 1, strided));
  pre_context_ = add_child("pre_context", std::make_unique<Conv2d>(in_channels, in_channels, 1));
  post_context_ = add_child("post_context", std::make_unique<Conv2d>(out_channels, out_channels, 1));
  if (!conv_cfg.get("use_deform", false)) return;
  if (kernel_size != 3) conv_cfg["use_deform"].fail(str_cat("needs a 3x3 kernel, this one is ", kernel_size));
  offset_s_ = add_child("offset_s", std::make_unique<Conv2d>(in_channels, 2 * 9, 3, window));
  offset_l_ = add_child("offset_l", std::make_unique<Conv2d>(in_channels, 2 * 9, 3, window));
}

void SAConv2d::init_weights(uint64_t seed) {
  ConvAWS2d::init_weights(seed);
  fill_constant(*weight_diff_, 0);
  constant_init(*switch_, 0);
  fill_constant(*switch_->bias(), 1);
  for (Conv2d* layer : {pre_context_, post_context_, offset_s_, offset_l_}) {
    if (layer) constant_init(*layer, 0);
  }
}

Variable SAConv2d::convolve(const Variable& x, const Variable& weight, const Variable& around,
                            const Conv2d* offset, const Conv2dParams& params) const {
  if (!offset) return conv2d(x, weight, {}, params);
  return deform_conv2d(x, offset->forward(around), weight, {params, /*deform_groups=*/1});
}

Variable SAConv2d::forward(const Variable& input) const {
  const ModuleScope scope(path());
  check_input(input);
  const DType dtype = weight().variable.dtype();
  const Variable x = with_context(cast(input, dtype), *pre_context_);
  const Variable around = avg_pool2d(reflect_pad2d(x, 2), {.kernel = 5, .stride = 1});

  Conv2dParams wide = params_;
  wide.pad_h *= kWideFactor;
  wide.pad_w *= kWideFactor;
  wide.dilation_h *= kWideFactor;
  wide.dilation_w *= kWideFactor;
  const Variable standardised = standardised_weight();
  const Variable near = convolve(x, standardised, around, offset_s_, params_);
  const Variable far = convolve(x, standardised + *weight_diff_, around, offset_l_, wide);
  const Variable gate = cast(switch_->forward(around), near.dtype());
  return with_context(blend(near, far, gate), *post_context_);
}

}  // namespace osprey
