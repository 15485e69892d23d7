#pragma once

#include "core/bbox/base_sampler.h"

namespace osprey {

// Pang et al., "Libra R-CNN", section 3.1: when there are more positives than places, every ground truth gets
// about the same number of them, so that one with many boxes does not crowd out the others. Negatives are
// random.
class InstanceBalancedPosSampler final : public BaseSampler {
 public:
  explicit InstanceBalancedPosSampler(const ConfigNode& cfg) : BaseSampler(cfg) {}
  std::vector<int64_t> sample_pos(const Draw& draw, std::vector<int64_t> positives,
                                  int64_t count) const override;
};

}  // namespace osprey
