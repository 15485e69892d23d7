#include "core/bbox/instance_balanced_pos_sampler.h"

#include <cmath>
#include <map>

namespace osprey {

std::vector<int64_t> InstanceBalancedPosSampler::sample_pos(const Draw& draw, std::vector<int64_t> positives,
                                                            int64_t count) const {
  if (static_cast<int64_t>(positives.size()) <= count) return positives;
  const auto gt_inds = draw.candidates.assigned.gt_inds.to_vector<int64_t>();
  std::map<int64_t, std::vector<int64_t>> by_gt;
  for (const int64_t row : positives) by_gt[gt_inds[row]].push_back(row);
  // Halves round to even, as Python's round() does.
  const double share = static_cast<double>(count) / static_cast<double>(by_gt.size());
  const auto per_gt = static_cast<int64_t>(std::nearbyint(share)) + 1;
  std::vector<int64_t> chosen;
  for (auto& [gt, rows] : by_gt) {
    const std::vector<int64_t> some = random_choice(std::move(rows), per_gt, draw.rng);
    chosen.insert(chosen.end(), some.begin(), some.end());
  }
  return filled_up(random_choice(std::move(chosen), count, draw.rng), positives, count, draw.rng);
}

OSPREY_REGISTER(BBoxSampler, InstanceBalancedPosSampler);

}  // namespace osprey
