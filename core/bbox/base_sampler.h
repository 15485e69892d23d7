#pragma once

#include "core/bbox/sampler.h"

namespace osprey {

// mmdetection's BaseSampler: at most num * pos_fraction positives, then negatives up to num, of which at most
// neg_pos_ub per positive (counting at least one). Which ones, derived types say; at random otherwise.
// Random numbers are drawn only when there are more candidates than places, positives first.
class BaseSampler : public BBoxSampler {
 public:
  SamplingResult sample(AssignResult assigned, const Tensor& bboxes, const Tensor& gt_bboxes,
                        const Tensor& gt_labels, CounterRng& rng) const override;
  SamplingResult sample_by_hardness(AssignResult assigned, const Tensor& bboxes, const Tensor& gt_bboxes,
                                    const Tensor& gt_labels, CounterRng& rng,
                                    const HardnessOf& hardness) const override;

  // What a choice is made among, and with.
  struct Draw {
    const SamplingCandidates& candidates;
    CounterRng& rng;
    const HardnessOf& hardness;  // empty when the caller has no head to ask
  };
  // `count` of the positives (or negatives), or all when there are no more; in any order, without repetition.
  virtual std::vector<int64_t> sample_pos(const Draw& draw, std::vector<int64_t> positives,
                                          int64_t count) const;
  virtual std::vector<int64_t> sample_neg(const Draw& draw, std::vector<int64_t> negatives,
                                          int64_t count) const;

 protected:
  // num, pos_fraction, neg_pos_ub (-1: no bound), add_gt_as_proposals (true).
  explicit BaseSampler(const ConfigNode& cfg);

 private:
  int64_t num_;
  double pos_fraction_, neg_pos_ub_;
  bool add_gt_as_proposals_;
};

// `count` of n places without replacement (the head of a Fisher-Yates shuffle), ascending; all of them,
// without drawing, when there are no more.
std::vector<int64_t> random_places(int64_t n, int64_t count, CounterRng& rng);

// `count` of the candidates without replacement (the head of a Fisher-Yates shuffle), ascending; all of them,
// without drawing, when there are no more.
std::vector<int64_t> random_choice(std::vector<int64_t> candidates, int64_t count, CounterRng& rng);

// The candidates that are not among `taken`, ascending.
std::vector<int64_t> without(const std::vector<int64_t>& candidates, const std::vector<int64_t>& taken);

// `chosen`, filled up to `count` with random ones of the other candidates.
std::vector<int64_t> filled_up(std::vector<int64_t> chosen, const std::vector<int64_t>& candidates,
                               int64_t count, CounterRng& rng);

}  // namespace osprey
