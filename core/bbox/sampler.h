#pragma once

#include <memory>

#include "core/base/rng.h"
#include "core/bbox/assigner.h"

namespace osprey {

// The boxes of one image that take part in a loss.
struct SamplingResult {
  Tensor pos_inds,
      neg_inds;  // i64, ascending, into the boxes (with ground truths prepended when they were added)
  Tensor pos_bboxes, neg_bboxes;  // f32 (p, 4), (q, 4)
  Tensor pos_is_gt;               // u8 (p)
  Tensor pos_assigned_gt_inds;    // i64 (p), 0-based
  Tensor pos_gt_bboxes;           // f32 (p, 4)
  Tensor pos_gt_labels;           // i64 (p) or undefined
  int64_t num_gts = 0;

  // Positives first: f32 (p + q, 4).
  Tensor bboxes() const { return concat({pos_bboxes, neg_bboxes}); }
};

class BBoxSampler {
 public:
  virtual ~BBoxSampler() = default;
  // Chooses among `bboxes` by `assigned` (which gets the ground truths prepended when add_gt_as_proposals is
  // set).
  virtual SamplingResult sample(AssignResult assigned, const Tensor& bboxes, const Tensor& gt_bboxes,
                                const Tensor& gt_labels, CounterRng& rng) const = 0;
};
// RandomSampler: num, pos_fraction, neg_pos_ub (-1), add_gt_as_proposals (true). PseudoSampler: everything.

OSPREY_DECLARE_REGISTRY(BBoxSampler);

}  // namespace osprey
