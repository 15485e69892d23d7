#pragma once

#include <memory>

#include "core/registry/registry.h"
#include "core/tensor/tensor.h"

namespace osprey {

struct AssignedRows;

// Which ground truth each box belongs to. On the device of the boxes.
struct AssignResult {
  int64_t num_gts = 0;
  Tensor gt_inds;       // i64 (n): 0 background, k > 0 ground truth k - 1, -1 ignored
  Tensor max_overlaps;  // f32 (n)
  Tensor labels;  // i64 (n): class of the ground truth, -1 elsewhere; undefined when no gt_labels were given
  // On CUDA, once find_assigned_rows() (sampler.h) has looked: where the boxes of each kind are.
  std::shared_ptr<const AssignedRows> rows = nullptr;
};

class BBoxAssigner {
 public:
  virtual ~BBoxAssigner() = default;
  // Ground truth may be on the CPU when the boxes are on CUDA; the host waits for nothing then.
  // bboxes f32 (n, 4); gt_bboxes f32 (k, 4); gt_bboxes_ignore f32 (m, 4), may be undefined or empty;
  // gt_labels i64 (k) or undefined. k = 0 assigns everything to background. A box with a NaN belongs to
  // nobody, and changes nothing for others.
  virtual AssignResult assign(const Tensor& bboxes, const Tensor& gt_bboxes, const Tensor& gt_bboxes_ignore,
                              const Tensor& gt_labels) const = 0;
};

OSPREY_DECLARE_REGISTRY(BBoxAssigner);

}  // namespace osprey
