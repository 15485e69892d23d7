#pragma once

#include "core/autograd/variable.h"

namespace osprey {

// What a filter's deviation is divided by.
enum class StandardizeMode {
  kVariancePlusEps,  // sqrt(var + eps): ConvAWS
  kStdPlusEps,       // std + eps: ConvWS
};

// Weight standardisation (Qiao et al., "Micro-Batch Training with Batch-Channel Normalization and Weight
// Standardization", eq. (5)). weight (co, ...): each filter w becomes gamma (w - mean) / divisor + beta, its
// variance unbiased. gamma, beta f32 with co elements (f64 beside f64), without gradient, or undefined: 1, 0.
// Runs in f32 whatever the weight is - a half's variance of 1e-5 has no bits left, and the gradient, which is
// divided by the deviation, overflows early - and rounds once. A filter of one element, or of equal ones, has
// variance 0; its gradient is 0 in kStdPlusEps.
Variable weight_standardize(const Variable& weight, const Tensor& gamma, const Tensor& beta,
                            StandardizeMode mode, double eps);

// Mean and sqrt(unbiased variance + eps) of each filter (co), f32, on the CPU.
struct FilterMoments {
  Tensor mean, deviation;
};
FilterMoments filter_moments(const Tensor& weight, double eps);

}  // namespace osprey
