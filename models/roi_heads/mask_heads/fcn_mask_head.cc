#include "models/roi_heads/mask_heads/fcn_mask_head.h"

#include "core/nn/init.h"
#include "core/ops/elementwise.h"
#include "core/ops/interpolate.h"
#include "models/find_or.h"

namespace osprey {

FCNMaskHead::FCNMaskHead(const ConfigNode& cfg)
    : MaskHead(cfg), conv_out_channels_(cfg.get("conv_out_channels", int64_t{256}, positive())) {
  const ConfigNode upsample_cfg = find_or(cfg, "upsample_cfg", "{type: deconv, scale_factor: 2}");
  const std::string method = upsample_cfg.find("type").is_null()
                                 ? "none"
                                 : upsample_cfg.choice("type", "", {"deconv", "nearest", "bilinear"});
  upsample_method_ = method == "deconv"     ? Upsample::kDeconv
                     : method == "nearest"  ? Upsample::kNearest
                     : method == "bilinear" ? Upsample::kBilinear
                                            : Upsample::kNone;
  scale_factor_ = upsample_cfg.get("scale_factor", int64_t{2}, positive());

  const int64_t num_convs = cfg.get("num_convs", int64_t{4}, non_negative());
  const int64_t kernel = cfg.get("conv_kernel_size", int64_t{3}, positive());
  const ConvModuleCfg conv = ConvModuleCfg::from(cfg);
  cfg.get("roi_feat_size", int64_t{14});  // the reference keeps it without using it
  int64_t channels = cfg.get("in_channels", int64_t{256}, positive());
  convs_ = add_child("convs", std::make_unique<ModuleList<ConvModule>>());
  for (int64_t i = 0; i < num_convs; ++i) {
    convs_->append(std::make_unique<ConvModule>(channels, conv_out_channels_, kernel,
                                                Conv2dParams::square(1, (kernel - 1) / 2), conv));
    channels = conv_out_channels_;
  }
  if (upsample_method_ == Upsample::kDeconv) {
    upsample_ =
        add_child("upsample", std::make_unique<ConvTranspose2d>(channels, conv_out_channels_, scale_factor_,
                                                                Conv2dParams::square(scale_factor_, 0)));
    channels = conv_out_channels_;
  }
  conv_logits_ = add_child("conv_logits", std::make_unique<Conv2d>(channels, logit_channels(), 1));
}

void FCNMaskHead::init_weights(uint64_t seed) {
  Module::init_weights(seed);
  if (upsample_) kaiming_init(*upsample_, seed);
  kaiming_init(*conv_logits_, seed);
}

Variable FCNMaskHead::forward(const Variable& roi_feats) const {
  const ModuleScope scope(path());
  return logits(features(roi_feats));
}

Variable FCNMaskHead::features(const Variable& roi_feats) const {
  return forward_through(*convs_, roi_feats);
}

Variable FCNMaskHead::logits(const Variable& features) const {
  return cast(conv_logits_->forward(upsampled(features)), DType::kF32);
}

Variable FCNMaskHead::upsampled(const Variable& x) const {
  const int64_t h = x.dim(1) * scale_factor_;
  const int64_t w = x.dim(2) * scale_factor_;
  switch (upsample_method_) {
    case Upsample::kDeconv:
      return upsample_->forward_relu(x);
    case Upsample::kNearest:
      return upsample_nearest(x, h, w);
    case Upsample::kBilinear:
      return upsample_bilinear(x, h, w, /*align_corners=*/false);
    case Upsample::kNone:
      break;
  }
  return x;
}

OSPREY_REGISTER(MaskHead, FCNMaskHead);

}  // namespace osprey
