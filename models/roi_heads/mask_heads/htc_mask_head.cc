#include "models/roi_heads/mask_heads/htc_mask_head.h"

#include "core/ops/elementwise.h"

namespace osprey {

HTCMaskHead::HTCMaskHead(const ConfigNode& cfg) : FCNMaskHead(cfg) {
  if (!cfg.get("with_conv_res", true)) return;
  ConvModuleCfg conv = ConvModuleCfg::from(cfg);
  conv_res_ = add_child("conv_res", std::make_unique<ConvModule>(conv_out_channels(), conv_out_channels(), 1,
                                                                 Conv2dParams(), conv));
}

Variable HTCMaskHead::forward_features(const Variable& roi_feats, const Variable& last_feat) const {
  const ModuleScope scope(path());
  if (!last_feat.defined()) return features(roi_feats);
  OSPREY_REQUIRE(conv_res_, path(), ": mask information flow needs with_conv_res: true from stage 1 on");
  return features(roi_feats + cast(conv_res_->forward(last_feat), roi_feats.dtype()));
}

Variable HTCMaskHead::forward_logits(const Variable& features) const {
  const ModuleScope scope(path());
  return logits(features);
}

OSPREY_REGISTER(MaskHead, HTCMaskHead);

}  // namespace osprey
