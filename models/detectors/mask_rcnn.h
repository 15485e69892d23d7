#pragma once

#include "models/detectors/two_stage_detector.h"

namespace osprey {

// He et al., "Mask R-CNN": Faster R-CNN whose RoI head has a mask branch.
class MaskRCNN final : public TwoStageDetector {
 public:
  using TwoStageDetector::TwoStageDetector;
};

}  // namespace osprey
