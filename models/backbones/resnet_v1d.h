#pragma once

#include "models/backbones/resnet.h"

namespace osprey {

// He et al., "Bag of Tricks for Image Classification", Fig. 2c and d: a stem of three 3x3 convolutions, and
// shortcuts that average before they project.
class ResNetV1d final : public ResNet {
 public:
  explicit ResNetV1d(const ConfigNode& cfg) : ResNet(cfg, {.deep_stem = true, .avg_down = true}) {}
};

}  // namespace osprey
