#pragma once

#include "core/tensor/device_kernel.h"
#include "core/tensor/tensor.h"

// What a backend implements for the norms. Maps are seen as (rows, c), not empty; weight, bias and statistics
// are (c) in the compute dtype: f32, or f64 beside f64 maps.
namespace osprey {

// Mean and biased variance of each channel.
extern DeviceKernel<void(const Tensor& x, Tensor& mean, Tensor& var)> batch_norm_stats_kernel;

// Statistics of several batches together: rows (ranks, 2 c + 1) hold mean, biased variance and number of rows
// of each. Writes mean, biased and unbiased variance (c) and the number of all rows (1); without any row
// mean and variances are those of `running`.
struct MergeStatisticsArgs {
  Tensor rows, running_mean, running_var;
};
extern DeviceKernel<void(const MergeStatisticsArgs& args, Tensor& mean, Tensor& var, Tensor& unbiased,
                         Tensor& count)>
    merge_statistics_kernel;

// y = (x - mean) / sqrt(var + eps) * weight + bias [+ residual] [, relu].
struct NormalizeArgs {
  Tensor x, mean, var, weight, bias;
  Tensor residual;  // like x, or undefined
  bool relu = false;
  double eps = 0;
};
extern DeviceKernel<void(const NormalizeArgs& args, Tensor& y)> normalize_kernel;

// Gradients of normalize (without the residual's). With batch_stats mean and var are functions of x.
struct NormalizeGradArgs {
  Tensor grad_y, mean, var, weight;
  Tensor x;  // undefined when only grad_x through fixed statistics is wanted
  Tensor y;  // the result when a relu made it, else undefined
  bool batch_stats = false;
  double eps = 0;
  // Where x is a part of the batch: sums over all of it, (2, c), of grad_y and of grad_y (x - mean) rstd, and
  // its rows (1). Undefined: x is the batch.
  Tensor sums, count;
};
// A null output is not wanted; the weight's and the bias's come together.
extern DeviceKernel<void(const NormalizeGradArgs& args, Tensor* grad_x, Tensor* grad_weight,
                         Tensor* grad_bias)>
    normalize_backward_kernel;

// x (n, h w, c). mean, rstd = 1 / sqrt(var + eps): (n, groups), written.
extern DeviceKernel<void(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps, Tensor& y,
                         Tensor& mean, Tensor& rstd)>
    group_norm_forward_kernel;
extern DeviceKernel<void(const Tensor& grad_y, const Tensor& x, const Tensor& weight, const Tensor& mean,
                         const Tensor& rstd, Tensor& grad_x, Tensor& grad_weight, Tensor& grad_bias)>
    group_norm_backward_kernel;

}  // namespace osprey
