#include "core/bbox/ohem_sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace osprey {

namespace {

Tensor rows_of(const Tensor& boxes, const std::vector<int64_t>& rows) {
  const Tensor source = boxes.to(kCPU).to(DType::kF32);
  const int64_t columns = source.dim(1);
  Tensor gathered({static_cast<int64_t>(rows.size()), 4}, DType::kF32);
  float* out = gathered.mutable_data<float>();
  for (const int64_t row : rows) out = std::copy_n(source.data<float>() + row * columns, 4, out);
  return gathered.to(boxes.device());
}

void require_head(const BaseSampler::Draw& draw) {
  if (draw.hardness) return;
  throw UserError(
      "OHEMSampler ranks boxes by the loss of a RoI head; it belongs into train_cfg.rcnn.sampler, not to an "
      "RPN or a single-stage head");
}

// The `count` hardest of `rows`, whose boxes should have been recognised as `labels` (undefined: background).
std::vector<int64_t> hard_mining(const BaseSampler::Draw& draw, const std::vector<int64_t>& rows,
                                 const Tensor& labels, int64_t count) {
  const Tensor bboxes = rows_of(draw.candidates.bboxes, rows);
  std::vector<float> losses = draw.hardness(bboxes, labels).to_vector<float>();
  OSPREY_REQUIRE(losses.size() == rows.size(), "OHEMSampler: ", rows.size(), " boxes, but ", losses.size(),
                 " losses");
  for (float& loss : losses) {  // a broken head must not hide: its boxes are the hardest
    if (std::isnan(loss)) loss = std::numeric_limits<float>::infinity();
  }
  std::vector<int64_t> order(rows.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return losses[a] > losses[b]; });
  std::vector<int64_t> hardest;
  for (int64_t i = 0; i < count; ++i) hardest.push_back(rows[order[i]]);
  return hardest;
}

}  // namespace

std::vector<int64_t> OHEMSampler::sample_pos(const Draw& draw, std::vector<int64_t> positives,
                                             int64_t count) const {
  if (static_cast<int64_t>(positives.size()) <= count) return positives;
  require_head(draw);
  OSPREY_REQUIRE(draw.candidates.assigned.labels.defined(), "OHEMSampler: the boxes need labels");
  const auto all = draw.candidates.assigned.labels.to_vector<int64_t>();
  std::vector<int64_t> labels;
  for (const int64_t row : positives) labels.push_back(all[row]);
  return hard_mining(draw, positives, Tensor::from(labels, {-1}), count);
}

std::vector<int64_t> OHEMSampler::sample_neg(const Draw& draw, std::vector<int64_t> negatives,
                                             int64_t count) const {
  if (static_cast<int64_t>(negatives.size()) <= count) return negatives;
  require_head(draw);
  return hard_mining(draw, negatives, /*labels=*/{}, count);
}

OSPREY_REGISTER(BBoxSampler, OHEMSampler);

}  // namespace osprey
