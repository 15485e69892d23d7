#include "core/bbox/base_sampler.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace osprey {

// Of the shuffled list only what has moved is kept: n is a quarter of a million anchors, count a few hundred.
std::vector<int64_t> random_places(int64_t n, int64_t count, CounterRng& rng) {
  std::vector<int64_t> places(std::min(n, count));
  std::iota(places.begin(), places.end(), int64_t{0});
  if (n <= count) return places;
  std::unordered_map<int64_t, int64_t> moved;
  const auto at = [&](int64_t i) {
    const auto found = moved.find(i);
    return found == moved.end() ? i : found->second;
  };
  for (int64_t i = 0; i < count; ++i) {
    const int64_t j = i + rng.randint(n - i);
    places[i] = at(j);
    moved[j] = at(i);
  }
  std::sort(places.begin(), places.end());
  return places;
}

std::vector<int64_t> random_choice(std::vector<int64_t> candidates, int64_t count, CounterRng& rng) {
  const int64_t n = static_cast<int64_t>(candidates.size());
  if (n <= count) return candidates;
  std::vector<int64_t> chosen;
  for (const int64_t place : random_places(n, count, rng)) chosen.push_back(candidates[place]);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::vector<int64_t> without(const std::vector<int64_t>& candidates, const std::vector<int64_t>& taken) {
  std::vector<int64_t> all = candidates, gone = taken, rest;
  std::sort(all.begin(), all.end());
  std::sort(gone.begin(), gone.end());
  std::set_difference(all.begin(), all.end(), gone.begin(), gone.end(), std::back_inserter(rest));
  return rest;
}

std::vector<int64_t> filled_up(std::vector<int64_t> chosen, const std::vector<int64_t>& candidates,
                               int64_t count, CounterRng& rng) {
  const int64_t missing = count - static_cast<int64_t>(chosen.size());
  if (missing <= 0) return chosen;
  const std::vector<int64_t> extra = random_choice(without(candidates, chosen), missing, rng);
  chosen.insert(chosen.end(), extra.begin(), extra.end());
  return chosen;
}

BaseSampler::BaseSampler(const ConfigNode& cfg)
    : num_(cfg.get<int64_t>("num", positive())),
      pos_fraction_(cfg.get<double>("pos_fraction", between(0, 1))),
      neg_pos_ub_(cfg.get("neg_pos_ub", -1.0, at_least(-1))),
      add_gt_as_proposals_(cfg.get("add_gt_as_proposals", true)) {}

SamplingResult BaseSampler::sample(AssignResult assigned, const Tensor& bboxes, const Tensor& gt_bboxes,
                                   const Tensor& gt_labels, CounterRng& rng) const {
  return sample_by_hardness(std::move(assigned), bboxes, gt_bboxes, gt_labels, rng, {});
}

SamplingResult BaseSampler::sample_by_hardness(AssignResult assigned, const Tensor& bboxes,
                                               const Tensor& gt_bboxes, const Tensor& gt_labels,
                                               CounterRng& rng, const HardnessOf& hardness) const {
  SamplingCandidates candidates{std::move(assigned), bboxes};
  if (add_gt_as_proposals_) candidates = add_gt_as_proposals(std::move(candidates), gt_bboxes, gt_labels);
  const Draw draw{candidates, rng, hardness};
  const auto quota = static_cast<int64_t>(static_cast<double>(num_) * pos_fraction_);
  std::vector<int64_t> pos_inds = sample_pos(draw, positives_of(candidates.assigned), quota);
  const auto taken = static_cast<int64_t>(pos_inds.size());
  int64_t places = num_ - taken;
  if (neg_pos_ub_ >= 0) {
    const double bound = neg_pos_ub_ * static_cast<double>(std::max<int64_t>(1, taken));
    places = std::min(places, static_cast<int64_t>(bound));
  }
  std::vector<int64_t> neg_inds = sample_neg(draw, negatives_of(candidates.assigned), places);
  std::sort(pos_inds.begin(), pos_inds.end());
  std::sort(neg_inds.begin(), neg_inds.end());
  return collect_samples(candidates, gt_bboxes, pos_inds, neg_inds);
}

std::vector<int64_t> BaseSampler::sample_pos(const Draw& draw, std::vector<int64_t> positives,
                                             int64_t count) const {
  return random_choice(std::move(positives), count, draw.rng);
}

std::vector<int64_t> BaseSampler::sample_neg(const Draw& draw, std::vector<int64_t> negatives,
                                             int64_t count) const {
  return random_choice(std::move(negatives), count, draw.rng);
}

}  // namespace osprey
