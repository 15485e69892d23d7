#pragma once

#include "core/autograd/variable.h"

// Losses whose targets say how good a prediction should be rather than whether it is right. Element by
// element, in f32 whatever comes in (f64 for f64); targets have the shape of the first argument, which is the
// result's. Each is finite, with a finite gradient, for every finite logit; NaN stays NaN.
namespace osprey {

// Li et al., "Generalized Focal Loss", eq. (4): bce(x, t) |t - sigmoid(x)|^beta; t in [0, 1] is the quality
// of the box at its class, 0 elsewhere. beta >= 0.
Variable quality_focal_loss(const Variable& logits, const Tensor& targets, double beta);

// Zhang et al., "VarifocalNet", eq. (2): bce(x, t) weighted by t where t > 0 (by 1 unless `iou_weighted`),
// by alpha |t - sigmoid(x)|^gamma elsewhere. gamma >= 0.
Variable varifocal_loss(const Variable& logits, const Tensor& targets, double alpha, double gamma,
                        bool iou_weighted);

// Law and Deng, "CornerNet", eq. (1): `probabilities` in [0, 1] (not logits) against heat maps in [0, 1]
// whose ones are the objects. Logarithms of p + 1e-12, as mmdetection 2.11. alpha, gamma >= 1.
Variable gaussian_focal_loss(const Variable& probabilities, const Tensor& targets, double alpha,
                             double gamma);

// Li et al., "Gradient Harmonized Single-stage Detector", eq. (9): sqrt(d^2 + mu^2) - mu, mu > 0.
Variable authentic_smooth_l1(const Variable& diff, double mu);

}  // namespace osprey
