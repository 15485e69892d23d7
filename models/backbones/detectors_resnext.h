#pragma once

#include "models/backbones/detectors_resnet.h"

namespace osprey {

// DetectoRS_ResNet with the grouped bottlenecks of ResNeXt: keys groups, base_width.
class DetectoRS_ResNeXt final : public DetectoRS_ResNet {
 public:
  explicit DetectoRS_ResNeXt(const ConfigNode& cfg);
};

}  // namespace osprey
