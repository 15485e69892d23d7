#include "core/bbox/device_samples.h"

#include "core/bbox/sampler_kernel.h"
#include "core/ops/row_order.h"

namespace osprey {

DeviceKernel<void(const Tensor&, bool, Tensor&)> flag_assigned_kernel("sampler");
DeviceKernel<void(const SampleArgs&, Samples&)> gather_samples_kernel("sampler");

namespace {

SelectedRows rows_of_kind(const Tensor& gt_inds, bool background) {
  Tensor flags(gt_inds.shape(), DType::kU8, gt_inds.device());
  if (!flags.empty()) flag_assigned_kernel(gt_inds.device(), gt_inds, background, flags);
  return select_rows(flags);
}

// Uploaded; undefined when every place is taken.
Tensor places_there(const std::optional<std::vector<int64_t>>& places, Device device) {
  return places ? Tensor::from(*places, {-1}).to(device) : Tensor();
}

Samples samples_of(int64_t count, bool positive, bool labelled, Device device) {
  Samples samples{Tensor({count}, DType::kI64, device), Tensor({count, 4}, DType::kF32, device), {}, {}, {}};
  if (!positive) return samples;
  samples.gt_inds = Tensor({count}, DType::kI64, device);
  samples.gt_bboxes = Tensor({count, 4}, DType::kF32, device);
  if (labelled) samples.gt_labels = Tensor({count}, DType::kI64, device);
  return samples;
}

}  // namespace

void find_assigned_rows(std::vector<AssignResult>& assigned) {
  std::vector<SelectedRows> found;
  Tensors counts;
  for (const AssignResult& image : assigned) {
    if (!image.gt_inds.device().is_cuda()) return;
    for (const bool background : {false, true}) {
      found.push_back(rows_of_kind(image.gt_inds, background));
      counts.push_back(found.back().count);
    }
  }
  if (counts.empty()) return;
  const auto numbers = concat(counts).to_vector<int64_t>();
  for (size_t i = 0; i < assigned.size(); ++i) {
    assigned[i].rows = std::make_shared<AssignedRows>(
        AssignedRows{found[2 * i].rows, found[2 * i + 1].rows, numbers[2 * i], numbers[2 * i + 1]});
  }
}

std::shared_ptr<const AssignedRows> assigned_rows(const AssignResult& assigned) {
  if (assigned.rows) return assigned.rows;
  std::vector<AssignResult> one{assigned};
  find_assigned_rows(one);
  return one.front().rows;
}

SamplingResult gather_device_samples(const AssignResult& assigned, const Tensor& bboxes,
                                     const Tensor& gt_bboxes, const Tensor& gt_labels, const Places& chosen) {
  const Device device = bboxes.device();
  const auto rows = assigned_rows(assigned);
  const bool labelled = assigned.labels.defined();
  SampleArgs args;
  args.added = chosen.added;
  args.boxes = bboxes.to(DType::kF32);
  args.gts = gt_bboxes.to(device).to(DType::kF32);
  args.gt_inds = assigned.gt_inds;
  args.labels = assigned.labels;
  OSPREY_REQUIRE(!labelled || chosen.added == 0 || gt_labels.defined(),
                 "sampler: the boxes have labels, the added ground truths need them too");
  args.gt_labels = labelled && gt_labels.defined() ? gt_labels.to(DType::kI64).to(device) : Tensor();

  const int64_t candidates = rows->num_pos + chosen.added;
  const int64_t num_pos = chosen.pos ? static_cast<int64_t>(chosen.pos->size()) : candidates;
  const int64_t num_neg = chosen.neg ? static_cast<int64_t>(chosen.neg->size()) : rows->num_neg;
  Samples pos = samples_of(num_pos, true, labelled, device);
  Samples neg = samples_of(num_neg, false, false, device);
  if (num_pos > 0) {
    args.places = places_there(chosen.pos, device);
    args.rows = rows->pos;
    args.leading = chosen.added;
    gather_samples_kernel(device, args, pos);
  }
  if (num_neg > 0) {
    args.places = places_there(chosen.neg, device);
    args.rows = rows->neg;
    args.leading = 0;
    gather_samples_kernel(device, args, neg);
  }
  std::vector<uint8_t> is_gt(num_pos);
  for (int64_t i = 0; i < num_pos; ++i) is_gt[i] = (chosen.pos ? (*chosen.pos)[i] : i) < chosen.added;
  return {pos.inds,    neg.inds,      pos.bboxes,    neg.bboxes,      Tensor::from(is_gt, {-1}),
          pos.gt_inds, pos.gt_bboxes, pos.gt_labels, assigned.num_gts};
}

}  // namespace osprey
