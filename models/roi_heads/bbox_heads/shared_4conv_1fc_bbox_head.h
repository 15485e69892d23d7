#pragma once

#include "models/roi_heads/bbox_heads/convfc_bbox_head.h"

namespace osprey {

// Wu & He, "Group Normalization", section 4.2: four convolutions and one linear layer, shared by both
// outputs.
class Shared4Conv1FCBBoxHead final : public ConvFCBBoxHead {
 public:
  explicit Shared4Conv1FCBBoxHead(const ConfigNode& cfg)
      : ConvFCBBoxHead(cfg, {.shared_convs = 4, .shared_fcs = 1}) {}
};

}  // namespace osprey
