#pragma once

#include "core/autograd/variable.h"
#include "core/nn/parameter.h"

// Li et al., "Gradient Harmonized Single-stage Detector": examples whose gradients are alike share one vote.
namespace osprey {

// |sigmoid(x) - t|, the length of the gradient of binary cross entropy. Off the tape.
Tensor gradient_length_of_logits(const Tensor& logits, const Tensor& targets);
// |d| / sqrt(d^2 + mu^2), that of authentic smooth L1. Off the tape.
Tensor gradient_length_of_diffs(const Tensor& diff, double mu);

// Eq. (5) and (6): 1 / (examples in the length's bin * bins that hold any), 0 for examples that do not count
// or lie in no bin; f32 of the lengths' shape. Bin b is [edges[b], edges[b + 1]); an example counts when its
// `weights` are > 0. Where mmdetection multiplies by the number of all examples and divides the loss by it
// again, neither happens here.
//
// With momentum > 0 the counts are those of acc_sum f32 (bins): momentum * itself + (1 - momentum) * count;
// an empty bin keeps what it had. They are staged: an iteration that is rolled back leaves no trace.
Tensor harmonizing_weights(const Tensor& lengths, const Tensor& weights, const Tensor& edges, double momentum,
                           Buffer* acc_sum);

}  // namespace osprey
