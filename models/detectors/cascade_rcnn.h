#pragma once

#include "models/detectors/two_stage_detector.h"

namespace osprey {

// Cai & Vasconcelos, "Cascade R-CNN": an RPN, and a CascadeRoIHead, with or without masks.
class CascadeRCNN final : public TwoStageDetector {
 public:
  using TwoStageDetector::TwoStageDetector;
};

}  // namespace osprey
