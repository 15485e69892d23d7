#pragma once

#include "core/autograd/variable.h"

// The arithmetic of losses, element by element, in f32 whatever comes in (f64 for f64). Reductions and
// weights are in losses/. Each is finite, with a finite gradient, for every finite logit; NaN stays NaN in
// both.
namespace osprey {

// -log softmax(logits)[label] per row. logits (..., c), labels (...), any integer dtype; a label equal to
// ignore_index gives 0 without gradient; class_weight f32 (c) or undefined multiplies by the label's weight.
// Returns the shape of labels. Throws Error naming row, value and range for any other label outside [0, c).
// (Labels that lie on a GPU are not checked, since that would stall it: such rows give NaN.)
Variable softmax_cross_entropy(const Variable& logits, const Tensor& labels, int64_t ignore_index,
                               const Tensor& class_weight = {});

// max(x, 0) - x t + log(1 + exp(-|x|)), with pos_weight (undefined, or f32 of the last dimension's extent) on
// the positive term. logits and targets have the same shape, which is the result's.
Variable bce_with_logits(const Variable& logits, const Tensor& targets, const Tensor& pos_weight = {});

// Girshick, "Fast R-CNN", eq. (3), knee moved from 1 to beta > 0. Shape of diff.
Variable smooth_l1(const Variable& diff, double beta);
Variable absolute(const Variable& diff);  // gradient 0 at 0

// Pang et al., "Libra R-CNN", eq. (7) with its integral: a log-shaped loss below beta that grows with slope
// gamma above. alpha, gamma, beta > 0. Shape of diff.
Variable balanced_l1(const Variable& diff, double alpha, double gamma, double beta);

// Lin et al., "Focal Loss for Dense Object Detection", eq. (5): bce(x, t) alpha_t (1 - p_t)^gamma with p_t
// the sigmoid's probability of the target. targets are 0 or 1, of the logits' shape, which is the result's.
// Grows linearly with |x|, as mmdetection's CPU path does (its CUDA kernel stops at |x| = 87).
Variable sigmoid_focal_loss(const Variable& logits, const Tensor& targets, double gamma, double alpha);

}  // namespace osprey
