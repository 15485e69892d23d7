#pragma once

#include "core/bbox/base_sampler.h"

namespace osprey {

// Positives by one sampler, negatives by another (Pang et al., "Libra R-CNN": pos_sampler
// InstanceBalancedPosSampler, neg_sampler IoUBalancedNegSampler). Any sampler but PseudoSampler and another
// CombinedSampler. They take num, pos_fraction, ... from this one.
class CombinedSampler final : public BaseSampler {
 public:
  // pos_sampler, neg_sampler, and the keys of BaseSampler.
  explicit CombinedSampler(const ConfigNode& cfg);
  std::vector<int64_t> sample_pos(const Draw& draw, std::vector<int64_t> positives,
                                  int64_t count) const override;
  std::vector<int64_t> sample_neg(const Draw& draw, std::vector<int64_t> negatives,
                                  int64_t count) const override;

 private:
  std::unique_ptr<BaseSampler> pos_sampler_, neg_sampler_;  // null: at random
};

}  // namespace osprey
