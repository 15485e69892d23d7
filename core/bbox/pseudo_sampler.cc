#include "core/bbox/pseudo_sampler.h"

#include "core/bbox/device_samples.h"

namespace osprey {

SamplingResult PseudoSampler::sample(AssignResult assigned, const Tensor& bboxes, const Tensor& gt_bboxes,
                                     const Tensor& gt_labels, CounterRng&) const {
  if (bboxes.device().is_cuda()) return gather_device_samples(assigned, bboxes, gt_bboxes, gt_labels, {});
  const SamplingCandidates candidates{std::move(assigned), bboxes};
  return collect_samples(candidates, gt_bboxes, positives_of(candidates.assigned),
                         negatives_of(candidates.assigned));
}

OSPREY_REGISTER(BBoxSampler, PseudoSampler);

}  // namespace osprey
