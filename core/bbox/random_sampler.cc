#include "core/bbox/random_sampler.h"

#include <algorithm>

#include "core/bbox/base_sampler.h"
#include "core/bbox/device_samples.h"

namespace osprey {

namespace {

std::vector<int64_t> pick(const std::vector<int64_t>& candidates, const std::vector<int64_t>& places) {
  std::vector<int64_t> picked;
  for (const int64_t place : places) picked.push_back(candidates[place]);
  return picked;
}

}  // namespace

RandomSampler::RandomSampler(const ConfigNode& cfg)
    : num_(cfg.get<int64_t>("num", positive())),
      pos_fraction_(cfg.get<double>("pos_fraction", between(0, 1))),
      neg_pos_ub_(cfg.get("neg_pos_ub", -1.0, at_least(-1))),
      add_gt_as_proposals_(cfg.get("add_gt_as_proposals", true)) {}

// Places in the lists of num_pos positives and num_neg negatives.
Places RandomSampler::draw(int64_t num_pos, int64_t num_neg, CounterRng& rng) const {
  const auto quota = static_cast<int64_t>(static_cast<double>(num_) * pos_fraction_);
  Places places;
  places.pos = random_places(num_pos, quota, rng);
  const auto taken = static_cast<int64_t>(places.pos->size());
  int64_t rest = num_ - taken;
  if (neg_pos_ub_ >= 0) {
    const double bound = neg_pos_ub_ * static_cast<double>(std::max<int64_t>(1, taken));
    rest = std::min(rest, static_cast<int64_t>(bound));
  }
  places.neg = random_places(num_neg, rest, rng);
  return places;
}

SamplingResult RandomSampler::sample(AssignResult assigned, const Tensor& bboxes, const Tensor& gt_bboxes,
                                     const Tensor& gt_labels, CounterRng& rng) const {
  if (bboxes.device().is_cuda()) {
    const int64_t added = add_gt_as_proposals_ ? gt_bboxes.dim(0) : 0;
    assigned.rows = assigned_rows(assigned);
    Places places = draw(assigned.rows->num_pos + added, assigned.rows->num_neg, rng);
    places.added = added;
    return gather_device_samples(assigned, bboxes, gt_bboxes, gt_labels, places);
  }
  SamplingCandidates candidates{std::move(assigned), bboxes};
  if (add_gt_as_proposals_) candidates = add_gt_as_proposals(std::move(candidates), gt_bboxes, gt_labels);
  const std::vector<int64_t> positives = positives_of(candidates.assigned);
  const std::vector<int64_t> negatives = negatives_of(candidates.assigned);
  const Places places =
      draw(static_cast<int64_t>(positives.size()), static_cast<int64_t>(negatives.size()), rng);
  return collect_samples(candidates, gt_bboxes, pick(positives, *places.pos), pick(negatives, *places.neg));
}

OSPREY_REGISTER(BBoxSampler, RandomSampler);

}  // namespace osprey
