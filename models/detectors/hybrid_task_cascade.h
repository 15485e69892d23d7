#pragma once

#include "models/detectors/two_stage_detector.h"

namespace osprey {

// Chen et al., "Hybrid Task Cascade for Instance Segmentation", Fig. 2c and 3, with the
// HybridTaskCascadeRoIHead that draws the figure (models/roi_heads/htc_roi_head.h):
//
//   img -> backbone -> neck (pyramid) --+--> semantic branch S, added to every RoI feature
//                        |              |
//                     rpn_head -> B0 -> B1 -> B2      boxes, refined stage by stage
//                                  |     |     |
//                                  M0 -> M1 -> M2     masks of the boxes just refined
class HybridTaskCascade final : public TwoStageDetector {
 public:
  using TwoStageDetector::TwoStageDetector;
};

}  // namespace osprey
