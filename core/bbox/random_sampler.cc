#include "core/bbox/random_sampler.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "core/bbox/device_samples.h"

namespace osprey {

namespace {

// `count` of n places without replacement (the head of a Fisher-Yates shuffle), ascending. Of the shuffled
// list only what has moved is kept: n is a quarter of a million anchors, count a few hundred.
std::vector<int64_t> choose(int64_t n, int64_t count, CounterRng& rng) {
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

std::vector<int64_t> pick(const std::vector<int64_t>& candidates, const std::vector<int64_t>& places) {
  std::vector<int64_t> picked;
  for (const int64_t place : places) picked.push_back(candidates[place]);
  return picked;
}

}  // namespace

RandomSampler::RandomSampler(const ConfigNode& cfg)
    : num_(cfg.get<int64_t>("num")),
      pos_fraction_(cfg.get<double>("pos_fraction")),
      neg_pos_ub_(cfg.get("neg_pos_ub", -1.0)),
      add_gt_as_proposals_(cfg.get("add_gt_as_proposals", true)) {
  if (num_ < 0) cfg["num"].fail("must be >= 0");
  if (!(pos_fraction_ >= 0 && pos_fraction_ <= 1)) cfg["pos_fraction"].fail("must lie in [0, 1]");
}

// Places in the lists of num_pos positives and num_neg negatives.
Places RandomSampler::draw(int64_t num_pos, int64_t num_neg, CounterRng& rng) const {
  const auto quota = static_cast<int64_t>(static_cast<double>(num_) * pos_fraction_);
  Places places;
  places.pos = choose(num_pos, quota, rng);
  const auto taken = static_cast<int64_t>(places.pos->size());
  int64_t rest = num_ - taken;
  if (neg_pos_ub_ >= 0) {
    const double bound = neg_pos_ub_ * static_cast<double>(std::max<int64_t>(1, taken));
    rest = std::min(rest, static_cast<int64_t>(bound));
  }
  places.neg = choose(num_neg, rest, rng);
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
