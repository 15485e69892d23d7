#include "core/bbox/pseudo_sampler.h"

namespace osprey {

SamplingResult PseudoSampler::sample(AssignResult assigned, const Tensor& bboxes, const Tensor& gt_bboxes,
                                     const Tensor&, CounterRng&) const {
  const SamplingCandidates candidates{std::move(assigned), bboxes};
  return collect_samples(candidates, gt_bboxes, positives_of(candidates.assigned),
                         negatives_of(candidates.assigned));
}

OSPREY_REGISTER(BBoxSampler, PseudoSampler);

}  // namespace osprey
