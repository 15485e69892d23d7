#pragma once

#include "models/detectors/single_stage_detector.h"

namespace osprey {

// Lin et al., "Focal Loss for Dense Object Detection", Fig. 3, with a RetinaHead.
class RetinaNet final : public SingleStageDetector {
 public:
  using SingleStageDetector::SingleStageDetector;
};

}  // namespace osprey
