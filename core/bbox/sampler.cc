#include "core/bbox/sampler.h"

#include <algorithm>
#include <numeric>

namespace osprey {

OSPREY_DEFINE_REGISTRY(BBoxSampler, "bbox sampler");

namespace {

// The first four columns of the given rows, f32.
Tensor gather_boxes(const Tensor& boxes, const std::vector<int64_t>& rows) {
  const Tensor source = boxes.to(kCPU).to(DType::kF32);
  const int64_t stride = source.dim(1);
  Tensor gathered({static_cast<int64_t>(rows.size()), 4}, DType::kF32);
  float* out = gathered.mutable_data<float>();
  for (const int64_t row : rows) out = std::copy_n(source.data<float>() + row * stride, 4, out);
  return gathered;
}

Tensor gather_integers(const Tensor& values, const std::vector<int64_t>& rows) {
  Tensor gathered({static_cast<int64_t>(rows.size())}, DType::kI64);
  int64_t* out = gathered.mutable_data<int64_t>();
  for (const int64_t row : rows) *out++ = values.data<int64_t>()[row];
  return gathered;
}

template <typename Predicate>
std::vector<int64_t> rows_where(const Tensor& gt_inds, const Predicate& holds) {
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < gt_inds.numel(); ++i) {
    if (holds(gt_inds.data<int64_t>()[i])) rows.push_back(i);
  }
  return rows;
}

Tensor first_integers(int64_t count) {  // 1, 2, ..., count
  std::vector<int64_t> values(count);
  std::iota(values.begin(), values.end(), int64_t{1});
  return Tensor::from(values, {count});
}

}  // namespace

SamplingCandidates add_gt_as_proposals(SamplingCandidates candidates, const Tensor& gt_bboxes,
                                       const Tensor& gt_labels) {
  const int64_t k = gt_bboxes.dim(0);
  if (k == 0) return candidates;
  std::vector<int64_t> all(candidates.bboxes.dim(0));
  std::iota(all.begin(), all.end(), int64_t{0});
  AssignResult& assigned = candidates.assigned;
  candidates.bboxes = concat({gt_bboxes.to(kCPU).to(DType::kF32), gather_boxes(candidates.bboxes, all)});
  assigned.gt_inds = concat({first_integers(k), assigned.gt_inds});
  assigned.max_overlaps = concat({Tensor::full({k}, 1, DType::kF32), assigned.max_overlaps});
  if (assigned.labels.defined()) {
    OSPREY_REQUIRE(gt_labels.defined(),
                   "sampler: the boxes have labels, the added ground truths need them too");
    assigned.labels = concat({gt_labels.to(kCPU).to(DType::kI64), assigned.labels});
  }
  candidates.num_added = k;
  return candidates;
}

std::vector<int64_t> positives_of(const AssignResult& assigned) {
  return rows_where(assigned.gt_inds, [](int64_t gt) { return gt > 0; });
}

std::vector<int64_t> negatives_of(const AssignResult& assigned) {
  return rows_where(assigned.gt_inds, [](int64_t gt) { return gt == 0; });
}

SamplingResult collect_samples(const SamplingCandidates& candidates, const Tensor& gt_bboxes,
                               const std::vector<int64_t>& pos_inds, const std::vector<int64_t>& neg_inds) {
  const AssignResult& assigned = candidates.assigned;
  std::vector<int64_t> gts;
  std::vector<uint8_t> is_gt;
  for (const int64_t row : pos_inds) {
    gts.push_back(assigned.gt_inds.data<int64_t>()[row] - 1);
    is_gt.push_back(row < candidates.num_added);
  }
  SamplingResult result;
  result.pos_inds = Tensor::from(pos_inds, {-1});
  result.neg_inds = Tensor::from(neg_inds, {-1});
  result.pos_bboxes = gather_boxes(candidates.bboxes, pos_inds);
  result.neg_bboxes = gather_boxes(candidates.bboxes, neg_inds);
  result.pos_is_gt = Tensor::from(is_gt, {-1});
  result.pos_assigned_gt_inds = Tensor::from(gts, {-1});
  result.pos_gt_bboxes = gather_boxes(gt_bboxes, gts);
  if (assigned.labels.defined()) result.pos_gt_labels = gather_integers(assigned.labels, pos_inds);
  result.num_gts = assigned.num_gts;
  return result;
}

}  // namespace osprey
