#pragma once

#include "models/detectors/two_stage_detector.h"

namespace osprey {

// Ren et al., "Faster R-CNN": an RPN, and a StandardRoIHead without masks.
class FasterRCNN final : public TwoStageDetector {
 public:
  using TwoStageDetector::TwoStageDetector;
};

}  // namespace osprey
