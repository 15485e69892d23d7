#include "core/bbox/iou_balanced_neg_sampler.h"

#include <algorithm>

namespace osprey {

namespace {

template <typename Predicate>
std::vector<int64_t> rows_where(const std::vector<int64_t>& rows, const Predicate& holds) {
  std::vector<int64_t> kept;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(kept), holds);
  return kept;
}

void append(std::vector<int64_t>& to, const std::vector<int64_t>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

IoUBalancedNegSampler::IoUBalancedNegSampler(const ConfigNode& cfg)
    : BaseSampler(cfg),
      floor_thr_(cfg.get("floor_thr", -1.0, at_least(-1))),
      floor_fraction_(cfg.get("floor_fraction", 0.0, between(0, 1))),
      num_bins_(cfg.get("num_bins", int64_t{3}, positive())) {
  if (!(floor_thr_ >= 0 || floor_thr_ == -1)) cfg["floor_thr"].fail("must be >= 0, or -1 for no floor");
}

std::vector<int64_t> IoUBalancedNegSampler::sample_neg(const Draw& draw, std::vector<int64_t> negatives,
                                                       int64_t count) const {
  if (static_cast<int64_t>(negatives.size()) <= count) return negatives;
  const auto overlaps = draw.candidates.assigned.max_overlaps.to_vector<float>();
  const auto below_floor = [&](int64_t row) {
    if (floor_thr_ < 0) return false;
    return floor_thr_ == 0 ? overlaps[row] == 0 : overlaps[row] >= 0 && overlaps[row] < floor_thr_;
  };
  const auto above_floor = [&](int64_t row) {
    return floor_thr_ > 0 ? overlaps[row] >= floor_thr_ : overlaps[row] > floor_thr_;
  };
  const std::vector<int64_t> floor = rows_where(negatives, below_floor);
  const std::vector<int64_t> sloped = rows_where(negatives, above_floor);

  const auto places = static_cast<int64_t>(static_cast<double>(count) * (1 - floor_fraction_));
  std::vector<int64_t> chosen = sloped;
  if (static_cast<int64_t>(sloped.size()) > places) {
    chosen = num_bins_ >= 2 ? sample_via_interval(overlaps, sloped, places, draw.rng)
                            : random_choice(sloped, places, draw.rng);
  }
  append(chosen, random_choice(floor, count - static_cast<int64_t>(chosen.size()), draw.rng));
  return filled_up(std::move(chosen), negatives, count, draw.rng);
}

std::vector<int64_t> IoUBalancedNegSampler::sample_via_interval(const std::vector<float>& overlaps,
                                                                const std::vector<int64_t>& negatives,
                                                                int64_t count, CounterRng& rng) const {
  const double low = std::max(floor_thr_, 0.0);
  const double interval = (*std::max_element(overlaps.begin(), overlaps.end()) - low) / num_bins_;
  std::vector<int64_t> chosen;
  for (int64_t bin = 0; bin < num_bins_; ++bin) {
    const double start = low + static_cast<double>(bin) * interval;
    const double end = low + static_cast<double>(bin + 1) * interval;
    const auto in_bin = [&](int64_t row) { return overlaps[row] >= start && overlaps[row] < end; };
    append(chosen, random_choice(rows_where(negatives, in_bin), count / num_bins_, rng));
  }
  return filled_up(std::move(chosen), negatives, count, rng);
}

OSPREY_REGISTER(BBoxSampler, IoUBalancedNegSampler);

}  // namespace osprey
