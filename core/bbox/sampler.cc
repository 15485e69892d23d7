#include "core/bbox/sampler.h"

#include <algorithm>
#include <numeric>

#include "core/bbox/sampler_kernel.h"
#include "core/bbox/transforms.h"

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

// On CUDA the host waits for all of gt_inds: samplers that can do with their numbers call assigned_rows().
template <typename Predicate>
std::vector<int64_t> rows_where(const Tensor& assigned, const Predicate& holds) {
  const Tensor gt_inds = assigned.to(kCPU);
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
  AssignResult& assigned = candidates.assigned;
  const Device device = candidates.bboxes.device();
  candidates.bboxes = concat({gt_bboxes.to(device).to(DType::kF32), first_four(candidates.bboxes)});
  assigned.gt_inds = concat({first_integers(k).to(device), assigned.gt_inds});
  assigned.max_overlaps = concat({Tensor::full({k}, 1, DType::kF32, device), assigned.max_overlaps});
  assigned.rows = nullptr;  // they were of the boxes alone
  if (assigned.labels.defined()) {
    OSPREY_REQUIRE(gt_labels.defined(),
                   "sampler: the boxes have labels, the added ground truths need them too");
    assigned.labels = concat({gt_labels.to(device).to(DType::kI64), assigned.labels});
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

namespace {

std::vector<uint8_t> are_ground_truths(const SamplingCandidates& candidates,
                                       const std::vector<int64_t>& pos_inds) {
  std::vector<uint8_t> is_gt;
  for (const int64_t row : pos_inds) is_gt.push_back(row < candidates.num_added);
  return is_gt;
}

SamplingResult collect_on_device(const SamplingCandidates& candidates, const Tensor& gt_bboxes,
                                 const std::vector<int64_t>& pos_inds, const std::vector<int64_t>& neg_inds) {
  const Device device = candidates.bboxes.device();
  const int64_t num_pos = static_cast<int64_t>(pos_inds.size()),
                num_neg = static_cast<int64_t>(neg_inds.size());
  SampleArgs args;
  args.boxes = candidates.bboxes.to(DType::kF32);
  args.gts = gt_bboxes.to(device).to(DType::kF32);
  args.gt_inds = candidates.assigned.gt_inds;
  args.labels = candidates.assigned.labels;
  const auto integers = [&](int64_t count) { return Tensor({count}, DType::kI64, device); };
  const auto boxes = [&](int64_t count) { return Tensor({count, 4}, DType::kF32, device); };
  Samples pos{integers(num_pos), boxes(num_pos), integers(num_pos), boxes(num_pos),
              args.labels.defined() ? integers(num_pos) : Tensor()};
  Samples neg{integers(num_neg), boxes(num_neg), {}, {}, {}};
  args.places = Tensor::from(pos_inds, {-1}).to(device);
  if (num_pos > 0) gather_samples_kernel(device, args, pos);
  args.places = Tensor::from(neg_inds, {-1}).to(device);
  if (num_neg > 0) gather_samples_kernel(device, args, neg);
  return {pos.inds,
          neg.inds,
          pos.bboxes,
          neg.bboxes,
          Tensor::from(are_ground_truths(candidates, pos_inds), {-1}),
          pos.gt_inds,
          pos.gt_bboxes,
          pos.gt_labels,
          candidates.assigned.num_gts};
}

}  // namespace

SamplingResult collect_samples(const SamplingCandidates& candidates, const Tensor& gt_bboxes,
                               const std::vector<int64_t>& pos_inds, const std::vector<int64_t>& neg_inds) {
  if (candidates.bboxes.device().is_cuda()) {
    return collect_on_device(candidates, gt_bboxes, pos_inds, neg_inds);
  }
  const AssignResult& assigned = candidates.assigned;
  std::vector<int64_t> gts;
  for (const int64_t row : pos_inds) gts.push_back(assigned.gt_inds.data<int64_t>()[row] - 1);
  SamplingResult result;
  result.pos_inds = Tensor::from(pos_inds, {-1});
  result.neg_inds = Tensor::from(neg_inds, {-1});
  result.pos_bboxes = gather_boxes(candidates.bboxes, pos_inds);
  result.neg_bboxes = gather_boxes(candidates.bboxes, neg_inds);
  result.pos_is_gt = Tensor::from(are_ground_truths(candidates, pos_inds), {-1});
  result.pos_assigned_gt_inds = Tensor::from(gts, {-1});
  result.pos_gt_bboxes = gather_boxes(gt_bboxes, gts);
  if (assigned.labels.defined()) result.pos_gt_labels = gather_integers(assigned.labels, pos_inds);
  result.num_gts = assigned.num_gts;
  return result;
}

}  // namespace osprey
