#include "core/evaluation/coco_matcher.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/error.h"

namespace osprey {
namespace {

// A threshold of 1 must still accept an IoU of 1 that was rounded down.
double effective_threshold(double iou_thr) { return std::min(iou_thr, 1 - 1e-10); }

bool outside(double area, const AreaRange& range) { return area < range.low || area > range.high; }

std::vector<double> box_ious(const std::vector<const CocoDetection*>& detections,
                             const std::vector<const CocoGroundTruth*>& ground_truths) {
  std::vector<double> ious;
  ious.reserve(detections.size() * ground_truths.size());
  for (const CocoDetection* dt : detections) {
    for (const CocoGroundTruth* gt : ground_truths) ious.push_back(iou(dt->bbox, gt->bbox, gt->iscrowd));
  }
  return ious;
}

std::vector<double> mask_ious(const std::vector<const CocoDetection*>& detections,
                              const std::vector<const CocoGroundTruth*>& ground_truths) {
  std::vector<const Rle*> dt, gt;
  std::vector<uint8_t> iscrowd;
  for (const CocoDetection* detection : detections) dt.push_back(detection->segmentation);
  for (const CocoGroundTruth* truth : ground_truths) {
    gt.push_back(truth->segmentation);
    iscrowd.push_back(truth->iscrowd);
  }
  for (const Rle* rle : dt) OSPREY_REQUIRE(rle, "segm evaluation: a detection has no mask");
  for (const Rle* rle : gt) OSPREY_REQUIRE(rle, "segm evaluation: a ground truth has no mask");
  return iou(dt, gt, iscrowd);
}

}  // namespace

CocoMatcher::CocoMatcher(std::vector<const CocoGroundTruth*> ground_truths,
                         std::vector<const CocoDetection*> detections, IouType iou_type, int64_t max_dets)
    : ground_truths_(std::move(ground_truths)), detections_(std::move(detections)) {
  std::stable_sort(
      detections_.begin(), detections_.end(),
      [](const CocoDetection* a, const CocoDetection* b) { return scores_higher(a->score, b->score); });
  if (static_cast<int64_t>(detections_.size()) > max_dets) detections_.resize(static_cast<size_t>(max_dets));
  if (detections_.empty() || ground_truths_.empty()) return;
  ious_ = iou_type == IouType::kBbox ? box_ious(detections_, ground_truths_)
                                     : mask_ious(detections_, ground_truths_);
}

std::vector<CocoMatcher::Candidate> CocoMatcher::candidates(size_t detection,
                                                            const std::vector<int32_t>& order,
                                                            const std::vector<uint8_t>& ignored,
                                                            double least_iou) const {
  std::vector<Candidate> found;
  const double* row = ious_.data() + detection * ground_truths_.size();
  for (const int32_t gt : order) {
    if (row[gt] >= least_iou) found.push_back({gt, ignored[gt] != 0, row[gt]});
  }
  return found;
}

CocoMatcher::Matches CocoMatcher::match(const AreaRange& range, const std::vector<double>& iou_thrs) const {
  const size_t num_gts = ground_truths_.size(), num_dts = detections_.size();
  std::vector<uint8_t> ignored(num_gts);
  for (size_t g = 0; g < num_gts; ++g) {
    ignored[g] = ground_truths_[g]->iscrowd || outside(ground_truths_[g]->area, range);
  }
  std::vector<int32_t> order(num_gts);  // those that count first
  std::iota(order.begin(), order.end(), 0);
  std::stable_partition(order.begin(), order.end(), [&](int32_t g) { return ignored[g] == 0; });

  Matches matches;
  matches.num_positives = std::count(ignored.begin(), ignored.end(), uint8_t{0});
  matches.gt.assign(iou_thrs.size() * num_dts, -1);
  matches.ignored.assign(iou_thrs.size() * num_dts, 0);
  std::vector<uint8_t> taken(iou_thrs.size() * num_gts, 0);
  double least_iou = 1;
  for (const double thr : iou_thrs) least_iou = std::min(least_iou, effective_threshold(thr));

  for (size_t d = 0; d < num_dts; ++d) {
    const bool too_small_or_large = outside(detections_[d]->area, range);
    const auto options = num_gts == 0 ? std::vector<Candidate>() : candidates(d, order, ignored, least_iou);
    for (size_t t = 0; t < iou_thrs.size(); ++t) {
      double best_iou = effective_threshold(iou_thrs[t]);
      const Candidate* best = nullptr;
      for (const Candidate& option : options) {
        if (taken[t * num_gts + option.gt] && !ground_truths_[option.gt]->iscrowd) continue;
        if (best && !best->ignored && option.ignored) break;  // only ignored ones follow
        if (option.iou < best_iou) continue;
        best_iou = option.iou;  // of equals the later one wins
        best = &option;
      }
      if (best) {
        matches.gt[t * num_dts + d] = best->gt;
        taken[t * num_gts + best->gt] = 1;
      }
      // COCOeval stores ids and takes id 0 for "unmatched"; equal numbers need the same slip.
      const bool unmatched = !best || ground_truths_[best->gt]->id == 0;
      matches.ignored[t * num_dts + d] = (best && best->ignored) || (unmatched && too_small_or_large);
    }
  }
  return matches;
}

}  // namespace osprey
