#pragma once

#include "models/backbones/resnet.h"

namespace osprey {

// The backbone of DetectoRS (Qiao et al., "DetectoRS: Detecting Objects with Recursive Feature Pyramid and
// Switchable Atrous Convolution"): ResNet-50, -101 or -152, and in addition
//   sac {type: SAC, use_deform} with stage_with_sac: switchable atrous convolutions in those stages, ahead of
//     dcn; usually with conv_cfg {type: ConvAWS} for the others;
//   output_img: the image itself comes first among the outputs, as the RFP neck needs it;
//   rfp_inplanes: width of the features that the neck sends back; 0 for a backbone that runs once.
class DetectoRS_ResNet : public ResNet {
 public:
  explicit DetectoRS_ResNet(const ConfigNode& cfg) : DetectoRS_ResNet(cfg, Variant::from(cfg)) {}

  Variables forward(const Variable& img) const override;
  // Another look at the image: rfp_feats[i] (n, h_i, w_i, rfp_inplanes) joins the first block of stage i, for
  // i >= 1. At least as many as stages. Returns the stages' outputs, without the image.
  Variables rfp_forward(const Variable& img, const Variables& rfp_feats) const;

 protected:
  DetectoRS_ResNet(const ConfigNode& cfg, const Variant& variant);

 private:
  bool output_img_;
};

}  // namespace osprey
