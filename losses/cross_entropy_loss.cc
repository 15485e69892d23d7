#include "losses/cross_entropy_loss.h"

#include <algorithm>

#include "core/ops/elementwise.h"
#include "core/ops/losses.h"
#include "losses/onehot.h"

namespace osprey {

namespace {

// Weights (n) that are 0 where the label is ignored.
Tensor without_ignored(const Tensor& weight, const Tensor& labels, int64_t ignore_index) {
  const Tensor host = labels.to(kCPU).to(DType::kI64);
  Tensor kept = weight.defined() ? weight.to(kCPU).to(DType::kF32).clone()
                                 : Tensor::full(labels.shape(), 1, DType::kF32);
  for (int64_t i = 0; i < labels.numel(); ++i) {
    if (host.data<int64_t>()[i] == ignore_index) kept.mutable_data<float>()[i] = 0;
  }
  return kept;
}

Tensor read_class_weight(const ConfigNode& cfg) {
  const ConfigNode node = cfg.find("class_weight");
  return node.is_null() ? Tensor() : Tensor::from(node.as<std::vector<double>>(), {-1}).to(DType::kF32);
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
      loss_weight_(cfg.get("loss_weight", 1.0)) {
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

Variable CrossEntropyLoss::softmax(const Variable& pred, const Tensor& labels, LossWeights weights) const {
  const Variable loss = softmax_cross_entropy(pred, labels, ignored_label(), class_weight_);
  if (avg_non_ignore_ && reduction_ == Reduction::kMean && !weights.avg_factor) {
    weights.avg_factor = count_non_ignored(labels);
  }
  return weight_reduce_loss(loss, reduction_, weights);
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
  if (ignore_index_ && avg_non_ignore_ && reduction_ == Reduction::kMean && !weights.avg_factor) {
    weights.avg_factor = count_non_ignored(target) * static_cast<double>(pred.dim(1));
  }
  const Tensor targets = expand_onehot_labels(target, pred.dim(1)).to(pred.device());
  return weight_reduce_loss(bce_with_logits(pred, targets, class_weight_), reduction_, weights);
}

Variable CrossEntropyLoss::mask(const Variable& pred, const Tensor& target,
                                const LossWeights& weights) const {
  OSPREY_REQUIRE(!weights.avg_factor && !weights.weight.defined(),
                 "CrossEntropyLoss: use_mask takes neither weights nor avg_factor");
  return weight_reduce_loss(bce_with_logits(pred, target), Reduction::kMean, {});
}

double CrossEntropyLoss::count_non_ignored(const Tensor& labels) const {
  const Tensor host = labels.to(kCPU).to(DType::kI64);
  const int64_t* begin = host.data<int64_t>();
  return static_cast<double>(labels.numel() - std::count(begin, begin + labels.numel(), ignored_label()));
}

OSPREY_REGISTER(Loss, CrossEntropyLoss);

}  // namespace osprey
