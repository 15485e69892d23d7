#pragma once

#include <cmath>

#include "core/tensor/device_kernel.h"
#include "core/tensor/tensor.h"

namespace osprey {

// What one gradient element adds to a p-norm, and how sums join: |g|^p and addition, or |g| and the maximum
// for p = infinity, where NaN wins.
OSPREY_HD inline double norm_term(float g, double p) {
  const double magnitude = std::fabs(static_cast<double>(g));
  if (p == 2) return magnitude * magnitude;
  return p == 1 || p > 1e300 ? magnitude : std::pow(magnitude, p);
}
OSPREY_HD inline double join_norms(double a, double b, double p) {
  if (p <= 1e300) return a + b;
  return a != a || a > b ? a : b;
}

// total f64 (1): the joined terms of all elements, in double and in an order that is always the same.
// Gradients are f32 on one device, at least one, none empty.
extern DeviceKernel<void(const Tensors& grads, double p, Tensor& total)> grad_norm_kernel;

}  // namespace osprey
