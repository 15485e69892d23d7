#include "core/bbox/random_sampler.h"

#include <algorithm>

namespace osprey {

namespace {

// `count` of the candidates without replacement (the head of a Fisher-Yates shuffle), ascending.
std::vector<int64_t> choose(std::vector<int64_t> candidates, int64_t count, CounterRng& rng) {
  const int64_t n = static_cast<int64_t>(candidates.size());
  if (n <= count) return candidates;
  for (int64_t i = 0; i < count; ++i) std::swap(candidates[i], candidates[i + rng.randint(n - i)]);
  candidates.resize(count);
  std::sort(candidates.begin(), candidates.end());
  return candidates;
}

}  // namespace

RandomSampler::RandomSampler(const ConfigNode& cfg)
    : num_(cfg.get<int64_t>("num", positive())),
      pos_fraction_(cfg.get<double>("pos_fraction", between(0, 1))),
      neg_pos_ub_(cfg.get("neg_pos_ub", -1.0, at_least(-1))),
      add_gt_as_proposals_(cfg.get("add_gt_as_proposals", true)) {}

SamplingResult RandomSampler::sample(AssignResult assigned, const Tensor& bboxes, const Tensor& gt_bboxes,
                                     const Tensor& gt_labels, CounterRng& rng) const {
  SamplingCandidates candidates{std::move(assigned), bboxes};
  if (add_gt_as_proposals_) candidates = add_gt_as_proposals(std::move(candidates), gt_bboxes, gt_labels);
  const auto quota = static_cast<int64_t>(static_cast<double>(num_) * pos_fraction_);
  const std::vector<int64_t> pos_inds = choose(positives_of(candidates.assigned), quota, rng);
  const auto taken = static_cast<int64_t>(pos_inds.size());
  int64_t places = num_ - taken;
  if (neg_pos_ub_ >= 0) {
    const double bound = neg_pos_ub_ * static_cast<double>(std::max<int64_t>(1, taken));
    places = std::min(places, static_cast<int64_t>(bound));
  }
  const std::vector<int64_t> neg_inds = choose(negatives_of(candidates.assigned), places, rng);
  return collect_samples(candidates, gt_bboxes, pos_inds, neg_inds);
}

OSPREY_REGISTER(BBoxSampler, RandomSampler);

}  // namespace osprey
