#pragma once

#include "models/backbones/resnet.h"

namespace osprey {

// Xie et al., "Aggregated Residual Transformations for Deep Neural Networks": `groups` parallel paths of
// width `base_width` in every bottleneck. Needs depth 50, 101 or 152.
class ResNeXt final : public ResNet {
 public:
  explicit ResNeXt(const ConfigNode& cfg);
};

}  // namespace osprey
