#pragma once

#include "models/backbones/detectors_resnet.h"
#include "models/necks/fpn.h"
#include "models/pretrained.h"

namespace osprey {

// Atrous spatial pyramid pooling (Chen et al., "Rethinking Atrous Convolution", section 3.3) as DetectoRS has
// it: one convolution for each dilation (1x1 where it is 1, else 3x3), all with ReLU, side by side; the last
// one, dilation 1, sees the mean of the image.
class ASPP final : public Module {
 public:
  ASPP(int64_t in_channels, int64_t out_channels, const std::vector<int64_t>& dilations);
  // x (n, h, w, in_channels) -> (n, h, w, dilations * out_channels).
  Variable forward(const Variable& x) const;
  void init_weights(uint64_t seed) override;

 private:
  ModuleList<Conv2d>* aspp_;
};

// Recursive feature pyramid (Qiao et al., "DetectoRS", section 3, Fig. 3): the pyramid, through ASPP, goes
// back into a further backbone, which looks at the image again; what that one's pyramid says is mixed with
// the former by a gate for each pixel. Keys of FPN, and
//   rfp_steps: 1 + the number of further backbones, each with weights of its own;
//   rfp_backbone: a DetectoRS backbone with rfp_inplanes = aspp_out_channels * length of aspp_dilations, and
//     `pretrained` or `init_cfg` of its own;
//   aspp_out_channels, aspp_dilations ([1, 3, 6, 1]).
class RFP final : public FPN {
 public:
  explicit RFP(const ConfigNode& cfg);
  // feats: the image first (backbone.output_img), then the backbone's maps.
  Variables forward(const Variables& feats) const override;
  void init_weights(uint64_t seed) override;

 private:
  Variables look_again(const DetectoRS_ResNet& backbone, const Variable& img, const Variables& pyramid) const;

  PretrainedBackbone pretrained_;
  size_t stages_;  // of the further backbones
  ModuleList<DetectoRS_ResNet>* rfp_modules_;
  ASPP* rfp_aspp_;
  Conv2d* rfp_weight_;
};

}  // namespace osprey
