#include "core/evaluation/proposal_recall.h"

#include <algorithm>
#include <numeric>

#include "core/base/error.h"
#include "core/evaluation/coco_types.h"
#include "core/evaluation/f32_overlap.h"

namespace osprey {
namespace {

// Row-major (ground truth, proposal), the `limit` best proposals in order.
std::vector<float> ious_of(const ProposalImage& image, int64_t limit) {
  const Tensor gts = image.gt_bboxes.to(kCPU), proposals = image.proposals.to(kCPU),
               scores = image.scores.to(kCPU);
  std::vector<int64_t> order(static_cast<size_t>(proposals.dim(0)));
  std::iota(order.begin(), order.end(), 0);
  const auto score = [&](int64_t i) { return scores.data<float>()[i]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return scores_higher(score(a), score(b)); });
  order.resize(static_cast<size_t>(std::min(limit, proposals.dim(0))));
  std::vector<float> ious;
  for (int64_t g = 0; g < gts.dim(0); ++g) {
    for (const int64_t p : order)
      ious.push_back(f32_overlap(gts.data<float>() + 4 * g, proposals.data<float>() + 4 * p));
  }
  return ious;
}

// The IoU of each pair, the best pair first; ground truths left without a proposal have 0 or less. Only the
// first `limit` of `width` proposals take part.
std::vector<float> pair_greedily(const std::vector<float>& ious, int64_t num_gts, int64_t width,
                                 int64_t limit) {
  limit = std::min(limit, width);
  std::vector<float> pairs(static_cast<size_t>(num_gts), 0.0f);
  if (limit == 0) return pairs;
  std::vector<uint8_t> gt_taken(static_cast<size_t>(num_gts), 0),
      proposal_taken(static_cast<size_t>(limit), 0);
  for (float& pair : pairs) {
    float best = -1;
    int64_t best_gt = -1, best_proposal = -1;
    for (int64_t g = 0; g < num_gts; ++g) {
      for (int64_t p = 0; p < limit && !gt_taken[g]; ++p) {
        if (proposal_taken[p] || ious[g * width + p] <= best) continue;
        best = ious[g * width + p];
        best_gt = g;
        best_proposal = p;
      }
    }
    pair = best;
    if (best_gt < 0) break;  // more ground truths than proposals
    gt_taken[best_gt] = proposal_taken[best_proposal] = 1;
  }
  return pairs;
}

}  // namespace

std::vector<std::vector<double>> proposal_recalls(const std::vector<ProposalImage>& images,
                                                  const std::vector<int64_t>& proposal_nums,
                                                  const std::vector<double>& iou_thrs) {
  OSPREY_REQUIRE(!proposal_nums.empty() && std::is_sorted(proposal_nums.begin(), proposal_nums.end()),
                 "proposal_recalls: proposal_nums must be ascending, got [", join(proposal_nums), "]");
  std::vector<std::vector<double>> recalls(proposal_nums.size(), std::vector<double>(iou_thrs.size(), 0.0));
  int64_t total = 0;
  for (const ProposalImage& image : images) {
    const int64_t num_gts = image.gt_bboxes.dim(0);
    const int64_t width = std::min(proposal_nums.back(), image.proposals.dim(0));
    const std::vector<float> ious = ious_of(image, proposal_nums.back());
    total += num_gts;
    for (size_t n = 0; n < proposal_nums.size(); ++n) {
      for (const float pair : pair_greedily(ious, num_gts, width, proposal_nums[n])) {
        for (size_t t = 0; t < iou_thrs.size(); ++t)
          recalls[n][t] += static_cast<double>(pair) >= iou_thrs[t];
      }
    }
  }
  if (total == 0) return recalls;
  for (auto& row : recalls) {
    for (double& recall : row) recall /= static_cast<double>(total);
  }
  return recalls;
}

}  // namespace osprey
