#include <cmath>
#include <utility>
#include <vector>

#include "core/ops/nms.h"
#include "core/ops/nms_boxes.h"

namespace osprey {

namespace {

struct Candidate {
  NmsBox box;
  float score;
  int64_t row;
};

std::vector<Candidate> candidates_of(const Tensor& boxes, const Tensor& scores, float offset) {
  std::vector<Candidate> candidates;
  for (int64_t i = 0; i < scores.numel(); ++i) {
    const float score = scores.data<float>()[i];
    if (std::isnan(score)) continue;
    candidates.push_back({NmsBox(boxes.data<float>() + 4 * i, offset), score, i});
  }
  return candidates;
}

// By what an overlap multiplies a score; boxes without area overlap nothing.
struct Decay {
  SoftNmsMethod method;
  float threshold, sigma;

  float operator()(float iou) const {
    if (std::isnan(iou)) return 1;
    if (method == SoftNmsMethod::kGaussian) return std::exp(-(iou * iou) / sigma);
    if (iou < threshold) return 1;
    return method == SoftNmsMethod::kLinear ? 1 - iou : 0;
  }
};

// Index of the first best score in [from, size).
size_t best_from(const std::vector<Candidate>& candidates, size_t from) {
  size_t best = from;
  for (size_t i = from + 1; i < candidates.size(); ++i) {
    if (candidates[best].score < candidates[i].score) best = i;
  }
  return best;
}

SoftNmsResult gather(const std::vector<Candidate>& picked) {
  std::vector<float> dets;
  std::vector<int64_t> inds;
  for (const Candidate& c : picked) {
    dets.insert(dets.end(), {c.box.x1, c.box.y1, c.box.x2, c.box.y2, c.score});
    inds.push_back(c.row);
  }
  return {Tensor::from(dets, {static_cast<int64_t>(inds.size()), 5}), Tensor::from(inds, {-1})};
}

}  // namespace

SoftNmsResult soft_nms(const Tensor& boxes, const Tensor& scores, double iou_threshold, double sigma,
                       double min_score, SoftNmsMethod method, int64_t offset) {
  require_boxes_and_scores("soft_nms", boxes, scores);
  const float shift = static_cast<float>(offset), floor = static_cast<float>(min_score);
  const Decay decay{method, static_cast<float>(iou_threshold), static_cast<float>(sigma)};
  std::vector<Candidate> rest =
      candidates_of(boxes.to(kCPU).to(DType::kF32), scores.to(kCPU).to(DType::kF32), shift);
  for (size_t i = 0; i < rest.size(); ++i) {
    std::swap(rest[i], rest[best_from(rest, i)]);
    for (size_t j = i + 1; j < rest.size();) {
      rest[j].score *= decay(nms_iou(rest[i].box, rest[j].box, shift));
      if (rest[j].score < floor) {
        rest[j] = rest.back();  // it comes next, at the same place
        rest.pop_back();
      } else {
        ++j;
      }
    }
  }
  return gather(rest);
}

}  // namespace osprey
