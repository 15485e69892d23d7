#pragma once

#include <cmath>

#include "core/ops/weight_standardize.h"
#include "core/tensor/device_kernel.h"
#include "core/tensor/dtype.h"
#include "core/tensor/tensor.h"

namespace osprey {

// What backward needs of one filter: out = gamma scale (w - mean) + beta, and d scale / d w_i =
// -slope (w_i - mean).
template <typename C>
struct FilterScale {
  C mean, scale, slope;
};

// From the mean and the sum of squared deviations of `count` weights.
template <typename C>
OSPREY_HD FilterScale<C> filter_scale(double mean, double m2, int64_t count, bool std_plus_eps, double eps) {
  const double freedom = count > 1 ? static_cast<double>(count - 1) : 1.0;
  const double variance = m2 / freedom;
  const double std = std::sqrt(std_plus_eps ? variance : variance + eps);
  const double scale = 1 / (std_plus_eps ? std + eps : std);
  const double slope = std > 0 ? scale * scale / (freedom * std) : 0;
  return {static_cast<C>(mean), static_cast<C>(scale), static_cast<C>(slope)};
}

// gamma, beta: null for 1 and 0. `filters` (co). A row is one filter.
template <typename T>
struct Standardize {
  using C = ComputeType<T>;
  const T* weight;
  int64_t size;
  const C *gamma, *beta;
  const FilterScale<C>* filters;
  T* out;
  OSPREY_HD void operator()(int64_t row, int64_t begin, int64_t end) const {
    const FilterScale<C> f = filters[row];
    const C scale = gamma ? gamma[row] * f.scale : f.scale, shift = beta ? beta[row] : C(0);
    for (int64_t i = row * size + begin; i < row * size + end; ++i) {
      out[i] = static_cast<T>((static_cast<C>(weight[i]) - f.mean) * scale + shift);
    }
  }
};

// grad = gamma (scale (g - mean of g) - slope (w - mean) sum of g (w - mean)). sums: (2, co), of g and of
// g (w - mean).
template <typename T>
struct StandardizeGrad {
  using C = ComputeType<T>;
  const T *weight, *grad_out;
  int64_t rows, size;
  const C* gamma;
  const FilterScale<C>* filters;
  const double* sums;
  T* grad;
  OSPREY_HD void operator()(int64_t row, int64_t begin, int64_t end) const {
    const FilterScale<C> f = filters[row];
    const C factor = gamma ? gamma[row] : C(1);
    const C mean_g = static_cast<C>(sums[row] / static_cast<double>(size));
    const C bend = f.slope * static_cast<C>(sums[rows + row]);
    for (int64_t i = row * size + begin; i < row * size + end; ++i) {
      const C g = static_cast<C>(grad_out[i]), d = static_cast<C>(weight[i]) - f.mean;
      grad[i] = static_cast<T>(factor * (f.scale * (g - mean_g) - bend * d));
    }
  }
};

// weight (co, size), not empty; gamma and beta in the compute dtype or undefined; filters (co, 3) in the
// compute dtype: FilterScale.
struct StandardizeArgs {
  Tensor weight, gamma, beta;
  StandardizeMode mode;
  double eps;
};
extern DeviceKernel<void(const StandardizeArgs& args, Tensor& filters, Tensor& out)> standardize_kernel;
extern DeviceKernel<void(const StandardizeArgs& args, const Tensor& filters, const Tensor& grad_out,
                         Tensor& grad)>
    standardize_backward_kernel;

template <typename C>
const FilterScale<C>* filters_of(const Tensor& filters) {
  return reinterpret_cast<const FilterScale<C>*>(filters.data<C>());
}

}  // namespace osprey
