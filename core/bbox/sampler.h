#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/rng.h"
#include "core/bbox/assigner.h"

namespace osprey {

// The boxes of one image that take part in a loss. On the device of the boxes, but for pos_is_gt.
struct SamplingResult {
  // i64, ascending, into the boxes (with ground truths prepended when they were added)
  Tensor pos_inds, neg_inds;
  Tensor pos_bboxes, neg_bboxes;  // f32 (p, 4), (q, 4)
  Tensor pos_is_gt;               // u8 (p), on the CPU
  Tensor pos_assigned_gt_inds;    // i64 (p), 0-based
  Tensor pos_gt_bboxes;           // f32 (p, 4)
  Tensor pos_gt_labels;           // i64 (p) or undefined
  int64_t num_gts = 0;

  // Positives first: f32 (p + q, 4).
  Tensor bboxes() const { return concat({pos_bboxes, neg_bboxes}); }
};

// How wrong the head that will be trained is about boxes f32 (n, 4) of one image, which are of the classes
// `labels` i64 (n), on any device, or background when undefined: f32 (n). Off the tape.
using HardnessOf = std::function<Tensor(const Tensor& bboxes, const Tensor& labels)>;

class BBoxSampler {
 public:
  virtual ~BBoxSampler() = default;
  // Chooses among `bboxes` by `assigned` (which gets the ground truths prepended when add_gt_as_proposals is
  // set). bboxes f32 (n, 4) or (n, 5) with scores; gt_labels i64 (k) or undefined.
  virtual SamplingResult sample(AssignResult assigned, const Tensor& bboxes, const Tensor& gt_bboxes,
                                const Tensor& gt_labels, CounterRng& rng) const = 0;
  // The same for samplers that look for hard examples; the others do not ask.
  virtual SamplingResult sample_by_hardness(AssignResult assigned, const Tensor& bboxes,
                                            const Tensor& gt_bboxes, const Tensor& gt_labels, CounterRng& rng,
                                            const HardnessOf&) const {
    return sample(std::move(assigned), bboxes, gt_bboxes, gt_labels, rng);
  }
};

OSPREY_DECLARE_REGISTRY(BBoxSampler);

// --- For the implementations of samplers. With boxes on CUDA these work as on the CPU, after one wait for
// the assignment; device_samples.h has what needs no more than its numbers.

// The boxes that a sampler chooses among.
struct SamplingCandidates {
  AssignResult assigned;
  Tensor bboxes;          // f32 (n, 4)
  int64_t num_added = 0;  // the first rows are ground truths that joined as proposals
};
// The same with every ground truth prepended as a box that is assigned to itself, with overlap 1.
SamplingCandidates add_gt_as_proposals(SamplingCandidates candidates, const Tensor& gt_bboxes,
                                       const Tensor& gt_labels);

// Ascending indices of the boxes that are assigned to a ground truth, or to the background.
std::vector<int64_t> positives_of(const AssignResult& assigned);
std::vector<int64_t> negatives_of(const AssignResult& assigned);

// Gathers what the losses need. pos_inds, neg_inds: ascending rows of candidates.bboxes.
SamplingResult collect_samples(const SamplingCandidates& candidates, const Tensor& gt_bboxes,
                               const std::vector<int64_t>& pos_inds, const std::vector<int64_t>& neg_inds);

}  // namespace osprey
