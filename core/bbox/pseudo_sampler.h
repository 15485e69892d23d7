#pragma once

#include "core/bbox/sampler.h"

namespace osprey {

// Takes every positive and every negative (RetinaNet and other losses that weigh instead of sampling).
class PseudoSampler final : public BBoxSampler {
 public:
  explicit PseudoSampler(const ConfigNode&) {}
  SamplingResult sample(AssignResult assigned, const Tensor& bboxes, const Tensor& gt_bboxes,
                        const Tensor& gt_labels, CounterRng& rng) const override;
};

}  // namespace osprey
