#include "losses/cross_entropy_loss.h"

#include "core/ops/elementwise.h"
#include "core/ops/losses.h"
#include "core/ops/reduce.h"
#include "core/ops/row_ops.h"

namespace osprey {

namespace {

// `weight` (n), or ones, made 0 where the label is ignored.
Tensor without_ignored(const Tensor& weight, const Tensor& labels, int64_t ignore_index) {
  const Tensor mask = unless_equal(labels, ignore_index);
  if (!weight.defined()) return mask;
  return (Variable(weight.to(DType::kF32).to(mask.device())) * Variable(mask)).value();
}

Tensor read_class_weight(const ConfigNode& cfg) {
  const ConfigNode node = cfg.find("class_weight");
  return node.is_null() ? Tensor()
                        : Tensor::from(node.as<std::vector<double>>(non_negative()), {-1}).to(DType::kF32);
}

std::optional<int64_t> read_ignore_index(const ConfigNode& cfg) {
  const ConfigNode node = cfg.find("ignore_index");
  return node.is_null() ? std::nullopt : std::optional(node.as<int64_t>());
}

}  // namespace

CrossEntropyLoss::CrossEntropyLoss(const ConfigNode& cfg)
    : use_sigmoid_(cfg.get("use_sigmoid", false)),
      use_mask_(cfg.get("use_mask", false)),
      avg_non_ignore_(cfg.get("avg_non_ignore", false)),
      reduction_(read_reduction(cfg)),
      class_weight_(read_class_weight(cfg)),
      ignore_index_(read_ignore_index(cfg)),
      loss_weight_(cfg.get("loss_weight", 1.0, non_negative())) {
  if (use_sigmoid_ && use_mask_) cfg.fail("use_sigmoid and use_mask exclude each other");
  if (!use_mask_) return;
  if (reduction_ != Reduction::kMean) cfg["reduction"].fail("use_mask allows 'mean' only");
  if (class_weight_.defined()) cfg["class_weight"].fail("has no meaning with use_mask");
}

Variable CrossEntropyLoss::forward(const Variable& pred, const Tensor& target,
                                   const LossWeights& weights) const {
  const Variable loss = use_mask_      ? mask(pred, target, weights)
                        : use_sigmoid_ ? sigmoid(pred, target, weights)
                                       : softmax(pred, target, weights);
  return loss_weight_ * loss;
}

Variable CrossEntropyLoss::softmax(const Variable& pred, const Tensor& labels,
                                   const LossWeights& weights) const {
  const Variable loss = softmax_cross_entropy(pred, labels, ignored_label(), class_weight_);
  return avg_non_ignore_ && is_plain_mean(weights) ? mean_over_counted(loss, labels, weights)
                                                   : weight_reduce_loss(loss, reduction_, weights);
}

Variable CrossEntropyLoss::sigmoid(const Variable& pred, const Tensor& target, LossWeights weights) const {
  if (pred.value().rank() == target.rank()) {
    return weight_reduce_loss(bce_with_logits(pred, target, class_weight_), reduction_, weights);
  }
  OSPREY_REQUIRE(pred.value().rank() == 2 && target.shape() == Shape{pred.dim(0)}, "CrossEntropyLoss: pred ",
                 to_string(pred.shape()), " needs labels (", pred.dim(0),
                 ") or targets of its own shape, got ", to_string(target.shape()));
  // Without the key, mmdetection 2.11 lets every label count: one outside the classes is background.
  if (ignore_index_) weights.weight = without_ignored(weights.weight, target, *ignore_index_);
  const Tensor targets = one_hot(target.to(pred.device()), pred.dim(1));
  const Variable loss = bce_with_logits(pred, targets, class_weight_);
  return ignore_index_ && avg_non_ignore_ && is_plain_mean(weights)
             ? mean_over_counted(loss, target, weights)
             : weight_reduce_loss(loss, reduction_, weights);
}

Variable CrossEntropyLoss::mask(const Variable& pred, const Tensor& target,
                                const LossWeights& weights) const {
  OSPREY_REQUIRE(!weights.avg_factor && !weights.weight.defined(),
                 "CrossEntropyLoss: use_mask takes neither weights nor avg_factor");
  return weight_reduce_loss(bce_with_logits(pred, target), Reduction::kMean, {});
}

bool CrossEntropyLoss::is_plain_mean(const LossWeights& weights) const {
  return weights.reduction_override.value_or(reduction_) == Reduction::kMean && !weights.avg_factor;
}

// The number of elements that belong to labels which count is never fetched from a GPU.
Variable CrossEntropyLoss::mean_over_counted(const Variable& loss, const Tensor& labels,
                                             LossWeights weights) const {
  weights.reduction_override = Reduction::kSum;
  const double per_label = labels.empty() ? 0 : static_cast<double>(loss.numel() / labels.numel());
  const Variable counted = per_label * sum(Variable(unless_equal(labels, ignored_label())));
  return divide_by_count(weight_reduce_loss(loss, reduction_, weights), counted.value());
}

OSPREY_REGISTER(Loss, CrossEntropyLoss);

}  // namespace osprey
