#include <algorithm>
#include <vector>

#include "core/ops/nms.h"

namespace osprey {

namespace {

// The (box, class) pairs above the threshold, box-major.
struct Candidates {
  std::vector<float> boxes, scores;
  std::vector<int64_t> labels;

  Candidates(const Tensor& boxes_of, const Tensor& scores_of, float score_thr, const Tensor& factors) {
    const int64_t classes = scores_of.dim(1) - 1;
    const bool shared = boxes_of.dim(1) == 4;
    for (int64_t i = 0; i < scores_of.dim(0); ++i) {
      for (int64_t c = 0; c < classes; ++c) {
        const float score = scores_of.data<float>()[i * (classes + 1) + c];
        if (!(score > score_thr)) continue;
        const float* box = boxes_of.data<float>() + (shared ? i : i * classes + c) * 4;
        boxes.insert(boxes.end(), box, box + 4);
        scores.push_back(factors.defined() ? score * factors.data<float>()[i] : score);
        labels.push_back(c);
      }
    }
  }
};

}  // namespace

MulticlassNmsResult multiclass_nms(const Tensor& boxes, const Tensor& scores, double score_thr,
                                   const NmsConfig& cfg, int64_t max_num, const Tensor& score_factors) {
  OSPREY_REQUIRE(scores.rank() == 2 && scores.dim(1) >= 1,
                 "multiclass_nms: scores must be (n, classes + 1), got ", to_string(scores.shape()));
  const int64_t n = scores.dim(0), classes = scores.dim(1) - 1;
  OSPREY_REQUIRE(boxes.rank() == 2 && boxes.dim(0) == n && (boxes.dim(1) == 4 || boxes.dim(1) == 4 * classes),
                 "multiclass_nms: boxes must be (", n, ", 4) or (", n, ", ", 4 * classes, "), got ",
                 to_string(boxes.shape()));
  OSPREY_REQUIRE(!score_factors.defined() || score_factors.shape() == Shape{n},
                 "multiclass_nms: score_factors must be (", n, "), got ", to_string(score_factors.shape()));
  const Tensor factors = score_factors.defined() ? score_factors.to(kCPU).to(DType::kF32) : Tensor();
  const Candidates candidates(boxes.to(kCPU).to(DType::kF32), scores.to(kCPU).to(DType::kF32),
                              static_cast<float>(score_thr), factors);
  const int64_t count = static_cast<int64_t>(candidates.labels.size());
  NmsConfig limited = cfg;  // hard NMS keeps by descending score: it may stop at the limit
  if (max_num > 0) limited.max_num = cfg.max_num > 0 ? std::min(cfg.max_num, max_num) : max_num;
  NmsResult kept =
      batched_nms(Tensor::from(candidates.boxes, {count, 4}), Tensor::from(candidates.scores, {-1}),
                  Tensor::from(candidates.labels, {-1}), limited);
  if (max_num > 0 && kept.keep.numel() > max_num) {  // NMS type none has no limit of its own
    kept = {kept.dets.slice(0, max_num), kept.keep.slice(0, max_num)};
  }
  std::vector<int64_t> labels;
  for (const int64_t row : kept.keep.to_vector<int64_t>()) labels.push_back(candidates.labels[row]);
  return {kept.dets, Tensor::from(labels, {-1}), kept.keep};
}

}  // namespace osprey
