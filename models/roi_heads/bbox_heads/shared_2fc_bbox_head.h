#pragma once

#include "models/roi_heads/bbox_heads/convfc_bbox_head.h"

namespace osprey {

// The box head of Faster R-CNN with FPN: two linear layers of fc_out_channels, shared by both outputs.
class Shared2FCBBoxHead final : public ConvFCBBoxHead {
 public:
  explicit Shared2FCBBoxHead(const ConfigNode& cfg) : ConvFCBBoxHead(cfg, {.shared_fcs = 2}) {}
};

}  // namespace osprey
