#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/evaluation/coco_types.h"

namespace osprey {

struct ImageOutcome;

// COCO's detection metrics (cocodataset.org/#detection-eval), equal to pycocotools' COCOeval, quirks
// included: every crowd is ignored and nothing else is (an annotation's own `ignore` is overwritten);
// detections outside an area range are ignored only when unmatched; a range without ground truth has -1 and
// stays out of the means; a match with the annotation id 0 counts as none. Runs on all threads; the result
// does not depend on their number.
class CocoEval {
 public:
  // Annotations and detections of other images or categories are left out.
  CocoEval(CocoEvalParams params, const std::vector<CocoGroundTruth>& ground_truths,
           const std::vector<CocoDetection>& detections);

  const CocoEvalParams& params() const { return params_; }
  // Categories of the tables below: category_ids, or one when use_cats is off.
  size_t num_categories() const { return num_categories_; }

  // Interpolated precision at a recall threshold, and the highest recall; -1 without ground truth. Indices
  // are positions in params(): threshold t, recall threshold r, category k, area range a, max_dets m.
  double precision(size_t t, size_t r, size_t k, size_t a, size_t m) const {
    return precision_[(((k * params_.area_ranges.size() + a) * params_.max_dets.size() + m) *
                           params_.iou_thrs.size() +
                       t) *
                          params_.rec_thrs.size() +
                      r];
  }
  double recall(size_t t, size_t k, size_t a, size_t m) const {
    return recall_[((k * params_.area_ranges.size() + a) * params_.max_dets.size() + m) *
                       params_.iou_thrs.size() +
                   t];
  }

  // Which cells a mean covers. An unset threshold or category means all of them.
  struct Cells {
    std::optional<double> iou_thr = std::nullopt;
    std::optional<size_t> category = std::nullopt;
    std::string area = "all";
    int64_t max_dets = 100;
  };
  // Mean over the cells that have ground truth; -1 when there is none, or no such threshold or max_dets.
  double average_precision(const Cells& cells) const;
  double average_recall(const Cells& cells) const;

  // AP, AP50, AP75, AP small, medium, large; AR at each of three max_dets; AR small, medium, large. As in
  // pycocotools the first is at max_dets 100 whatever max_dets says, the others at the last of max_dets.
  std::array<double, 12> stats() const;
  // The twelve lines that pycocotools prints.
  std::string summary() const;

 private:
  template <typename Visit>
  double mean_over(const Cells& cells, const Visit& visit) const;
  void accumulate(size_t k, size_t a, const std::vector<ImageOutcome>& outcomes);

  CocoEvalParams params_;
  size_t num_categories_;
  std::vector<double> precision_, recall_;
};

}  // namespace osprey
