#pragma once

#include <deque>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/evaluation/coco_metrics.h"

namespace osprey::testing {

// golden/ops/coco_eval: 100 images of COCO val2017 with fabricated detections.
class CocoFixture {
 public:
  CocoFixture();

  const nlohmann::json& expected() const;
  const CocoReferenceData& reference() const { return reference_; }
  // Masks are set; sizes go by the box when `box_area`, else by the mask.
  std::vector<CocoDetection> detections(bool box_area) const;
  std::vector<CocoDetection> proposals() const;

 private:
  std::shared_ptr<const nlohmann::json> expected_, segm_, proposals_;
  CocoReferenceData reference_;
  std::deque<Rle> gt_masks_, dt_masks_;  // addresses stay
};

}  // namespace osprey::testing
