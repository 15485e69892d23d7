#pragma once

#include "core/bbox/sampler.h"

namespace osprey {

struct Places;

// A random subset: at most num * pos_fraction positives, then negatives up to num, of which at most
// neg_pos_ub per positive (counting at least one). Random numbers are drawn only when there are more
// candidates than places, positives first. The same
// seed gives the same boxes on every device.
class RandomSampler final : public BBoxSampler {
 public:
  // num, pos_fraction, neg_pos_ub (-1: no bound), add_gt_as_proposals (true).
  explicit RandomSampler(const ConfigNode& cfg);
  SamplingResult sample(AssignResult assigned, const Tensor& bboxes, const Tensor& gt_bboxes,
                        const Tensor& gt_labels, CounterRng& rng) const override;

 private:
  Places draw(int64_t num_pos, int64_t num_neg, CounterRng& rng) const;

  int64_t num_;
  double pos_fraction_, neg_pos_ub_;
  bool add_gt_as_proposals_;
};

}  // namespace osprey
