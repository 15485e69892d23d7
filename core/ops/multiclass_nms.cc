#include <algorithm>
#include <vector>

#include "core/ops/label_ops.h"
#include "core/ops/multiclass_nms_kernel.h"
#include "core/ops/nms.h"
#include "core/ops/row_order.h"

namespace osprey {

DeviceKernel<void(const Tensor&, float, Tensor&)> flag_candidates_kernel("multiclass_nms");
DeviceKernel<void(const Tensor&, const Tensor&, const Tensor&, const Tensor&, MulticlassCandidates&)>
    gather_candidates_kernel("multiclass_nms");

namespace {

// The pairs above the threshold, box-major.
MulticlassCandidates candidates_on_host(const Tensor& boxes_of, const Tensor& scores_of, float score_thr,
                                        const Tensor& factors) {
  std::vector<float> boxes, scores;
  std::vector<int64_t> labels;
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
  return {Tensor::from(boxes, {static_cast<int64_t>(labels.size()), 4}), Tensor::from(scores, {-1}),
          Tensor::from(labels, {-1})};
}

// The host waits for their number.
MulticlassCandidates candidates_on_device(const Tensor& boxes, const Tensor& scores, float score_thr,
                                          const Tensor& factors) {
  const Device device = boxes.device();
  Tensor flags({scores.dim(0) * (scores.dim(1) - 1)}, DType::kU8, device);
  if (!flags.empty()) flag_candidates_kernel(device, scores, score_thr, flags);
  const SelectedRows pairs = select_rows(flags);
  const int64_t count = flags.empty() ? 0 : pairs.count.to_vector<int64_t>()[0];
  MulticlassCandidates candidates{Tensor({count, 4}, DType::kF32, device),
                                  Tensor({count}, DType::kF32, device), Tensor({count}, DType::kI64, device)};
  if (count > 0) {
    gather_candidates_kernel(device, pairs.rows.slice(0, count), boxes, scores, factors, candidates);
  }
  return candidates;
}

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
  const Device device = boxes.device();
  const auto here = [&](const Tensor& x) { return x.to(device).to(DType::kF32); };
  const auto find = device.is_cuda() ? candidates_on_device : candidates_on_host;
  const MulticlassCandidates candidates = find(here(boxes), here(scores), static_cast<float>(score_thr),
                                               score_factors.defined() ? here(score_factors) : Tensor());
  NmsConfig limited = cfg;  // hard NMS keeps by descending score: it may stop at the limit
  if (max_num > 0) limited.max_num = cfg.max_num > 0 ? std::min(cfg.max_num, max_num) : max_num;
  NmsResult kept = batched_nms(candidates.boxes, candidates.scores, candidates.labels, limited);
  if (max_num > 0 && kept.keep.numel() > max_num) {  // NMS type none has no limit of its own
    kept = {kept.dets.slice(0, max_num), kept.keep.slice(0, max_num)};
  }
  return {kept.dets, gather_integers(candidates.labels, kept.keep), kept.keep};
}

}  // namespace osprey
