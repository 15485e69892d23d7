#include "losses/ghm_loss.h"

#include "core/ops/elementwise.h"
#include "core/ops/gradient_harmonizing.h"
#include "core/ops/reduce.h"
#include "core/ops/row_ops.h"

namespace osprey {
namespace {

// i / bins, rounded to f32 as torch does, so that an example on an edge falls into the same bin.
Tensor make_edges(int64_t bins, double last_edge) {
  std::vector<float> edges;
  for (int64_t i = 0; i < bins; ++i) edges.push_back(static_cast<float>(i) / static_cast<float>(bins));
  edges.push_back(static_cast<float>(last_edge));
  return Tensor::from(edges, {bins + 1});
}

int64_t read_bins(const ConfigNode& cfg) { return cfg.get("bins", int64_t{10}, positive()); }

}  // namespace

GHMLoss::GHMLoss(const ConfigNode& cfg, double last_edge)
    : momentum_(cfg.get("momentum", 0.0, non_negative())),
      loss_weight_(cfg.get("loss_weight", 1.0, non_negative())) {
  if (!(momentum_ < 1)) cfg["momentum"].fail("must be < 1: with 1 no example would ever be counted");
  const int64_t bins = read_bins(cfg);
  edges_ = add_buffer("edges", make_edges(bins, last_edge));
  if (momentum_ > 0) acc_sum_ = add_buffer("acc_sum", Tensor::zeros({bins}, DType::kF32));
}

Variable GHMLoss::harmonized(const Variable& loss, const Tensor& gradient_lengths,
                             const Tensor& weight) const {
  const Tensor weights =
      harmonizing_weights(gradient_lengths, weight, edges_->value, momentum_, acc_sum_).to(loss.dtype());
  return loss_weight_ * sum(loss * Variable(weights));
}

Tensor weight_of_each(const Tensor& weight, const Tensor& like) {
  const Tensor ones = Tensor::full(like.shape(), 1, like.dtype(), like.device());
  if (!weight.defined()) return ones;
  if (weight.shape() == like.shape()) return weight.to(like.dtype()).to(like.device());
  return scale_rows(ones, weight).value();
}

}  // namespace osprey
