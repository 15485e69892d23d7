#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/bbox/sampler.h"

// Sampling for boxes on CUDA. Sizes must be known to the host: it waits for two numbers an image, how many
// boxes are positive and how many are background. All else stays on the device.
namespace osprey {

struct AssignedRows {
  Tensor pos, neg;  // i64 (n): ascending rows, the first num_pos, num_neg of them; garbage behind
  int64_t num_pos, num_neg;
};

// Fills assigned[i].rows: one wait for all images. Nothing happens on the CPU.
void find_assigned_rows(std::vector<AssignResult>& assigned);
// assigned.rows, or the same for this image alone.
std::shared_ptr<const AssignedRows> assigned_rows(const AssignResult& assigned);

// Chosen places, ascending, in the lists of positives and of negatives; none: all of them. The list of
// positives starts with `added` ground truths that joined as proposals, and rows are numbered with those in
// front.
struct Places {
  int64_t added = 0;
  std::optional<std::vector<int64_t>> pos, neg;
};
SamplingResult gather_device_samples(const AssignResult& assigned, const Tensor& bboxes,
                                     const Tensor& gt_bboxes, const Tensor& gt_labels, const Places& chosen);

}  // namespace osprey
