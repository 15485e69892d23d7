#pragma once

#include "core/bbox/base_sampler.h"

namespace osprey {

// Pang et al., "Libra R-CNN", section 3.1: negatives are drawn evenly over their overlap with ground truth,
// because most overlap little and the hard ones are few. The overlaps from floor_thr to the largest of any
// box are cut into num_bins; a share floor_fraction of the negatives comes from below floor_thr. What the
// bins cannot fill is drawn at random. Positives are random.
class IoUBalancedNegSampler final : public BaseSampler {
 public:
  // floor_thr (-1: no floor; 0: the floor are the boxes that touch nothing), floor_fraction (0), num_bins
  // (3).
  explicit IoUBalancedNegSampler(const ConfigNode& cfg);
  std::vector<int64_t> sample_neg(const Draw& draw, std::vector<int64_t> negatives,
                                  int64_t count) const override;

 private:
  std::vector<int64_t> sample_via_interval(const std::vector<float>& overlaps,
                                           const std::vector<int64_t>& negatives, int64_t count,
                                           CounterRng& rng) const;

  double floor_thr_, floor_fraction_;
  int64_t num_bins_;
};

}  // namespace osprey
