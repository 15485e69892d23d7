#pragma once

#include "core/bbox/base_sampler.h"

namespace osprey {

// Shrivastava et al., "Training Region-based Object Detectors with Online Hard Example Mining": of the
// positives, and of the negatives, those that the RoI head is most wrong about; ties in input order. Belongs
// into train_cfg.rcnn: elsewhere there is no head to ask, which is a UserError.
class OHEMSampler final : public BaseSampler {
 public:
  explicit OHEMSampler(const ConfigNode& cfg) : BaseSampler(cfg) {}
  std::vector<int64_t> sample_pos(const Draw& draw, std::vector<int64_t> positives,
                                  int64_t count) const override;
  std::vector<int64_t> sample_neg(const Draw& draw, std::vector<int64_t> negatives,
                                  int64_t count) const override;
};

}  // namespace osprey
