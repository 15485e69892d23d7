#pragma once

#include <cstdint>
#include <vector>

#include "core/evaluation/coco_types.h"

namespace osprey {

// The detections of one image and category against its ground truth, with COCOeval's greedy rule: by
// descending score (ties keep input order), each detection takes the free ground truth of the highest IoU
// that reaches the threshold; ground truth that counts comes before ignored one; a crowd can be taken any
// number of times.
class CocoMatcher {
 public:
  // Keeps the `max_dets` best detections and computes all IoUs.
  CocoMatcher(std::vector<const CocoGroundTruth*> ground_truths, std::vector<const CocoDetection*> detections,
              IouType iou_type, int64_t max_dets);

  // The outcome for one area range. Row-major (threshold, detection).
  struct Matches {
    int64_t num_positives = 0;  // ground truths that count
    std::vector<int32_t> gt;    // position in ground_truths(), or -1
    std::vector<uint8_t> ignored;
  };
  Matches match(const AreaRange& range, const std::vector<double>& iou_thrs) const;

  const std::vector<const CocoGroundTruth*>& ground_truths() const { return ground_truths_; }
  const std::vector<const CocoDetection*>& detections() const { return detections_; }  // best first

 private:
  // One ground truth that a detection overlaps enough for the lowest threshold.
  struct Candidate {
    int32_t gt;
    bool ignored;
    double iou;
  };
  std::vector<Candidate> candidates(size_t detection, const std::vector<int32_t>& order,
                                    const std::vector<uint8_t>& ignored, double least_iou) const;

  std::vector<const CocoGroundTruth*> ground_truths_;
  std::vector<const CocoDetection*> detections_;
  std::vector<double> ious_;  // row-major (detection, ground truth)
};

}  // namespace osprey
