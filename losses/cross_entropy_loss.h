#pragma once

#include "losses/loss.h"

namespace osprey {

// mmdetection's CrossEntropyLoss: softmax, sigmoid or mask. Always f32, finite for every finite logit.
//
// Softmax (default): pred (..., c), target: labels (...). Labels in [0, c); `ignore_index` gives no loss but
//   still counts in the mean, unless avg_non_ignore is set.
// use_sigmoid: pred (n, c), target: labels (n), where a label outside [0, c) means "none of the classes",
// i.e.
//   all-zero targets (ignored when it equals a given ignore_index); or target of pred's shape with
//   probabilities. class_weight is the weight of positives.
// use_mask: pred (n, h, w), the logits of each RoI's own class; target (n, h, w) in [0, 1]; plain mean.
//
// Reduction "mean" divides by avg_factor, else by the number of elements; over no elements it is 0.
class CrossEntropyLoss final : public Loss {
 public:
  // use_sigmoid (false), use_mask (false), reduction ("mean"), class_weight (null, or one number per class),
  // ignore_index (-100), avg_non_ignore (false), loss_weight (1).
  explicit CrossEntropyLoss(const ConfigNode& cfg);
  Variable forward(const Variable& pred, const Tensor& target, const LossWeights& weights) const override;
  bool use_sigmoid() const override { return use_sigmoid_; }

 private:
  Variable softmax(const Variable& pred, const Tensor& labels, const LossWeights& weights) const;
  Variable sigmoid(const Variable& pred, const Tensor& target, LossWeights weights) const;
  Variable mask(const Variable& pred, const Tensor& target, const LossWeights& weights) const;
  bool is_plain_mean(const LossWeights& weights) const;  // neither a sum, nor by a given avg_factor
  Variable mean_over_counted(const Variable& loss, const Tensor& labels, LossWeights weights) const;
  int64_t ignored_label() const { return ignore_index_.value_or(-100); }  // torch's default

  bool use_sigmoid_, use_mask_, avg_non_ignore_;
  Reduction reduction_;
  Tensor class_weight_;  // undefined when all classes weigh the same
  std::optional<int64_t> ignore_index_;
  double loss_weight_;
};

}  // namespace osprey
