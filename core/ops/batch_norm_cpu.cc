#include "core/backend/cpu/map_cpu.h"
#include "core/backend/cpu/normalize_rows.h"
#include "core/ops/batch_norm_kernel.h"
#include "core/ops/norm_kernel.h"

namespace osprey {
namespace {

ChannelRows rows_of(const Tensor& x) { return ChannelRows(x.dim(0), x.dim(1)); }

template <typename C>
std::vector<C> values_of(const Tensor& tensor) {
  return std::vector<C>(tensor.data<C>(), tensor.data<C>() + tensor.numel());
}

template <typename T>
const T* data_or_null(const Tensor& tensor) {
  return tensor.defined() ? tensor.data<T>() : nullptr;
}

// 1 / sqrt(var + eps).
template <typename C>
std::vector<double> reciprocal_deviation(const Tensor& var, double eps) {
  std::vector<double> rstd;
  for (const C v : values_of<C>(var)) rstd.push_back(1 / std::sqrt(static_cast<double>(v) + eps));
  return rstd;
}

void batch_norm_stats_cpu(const Tensor& x, Tensor& mean, Tensor& var) {
  dispatch_floating(x.dtype(), "batch_norm", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = ComputeType<T>;
    const Moments moments = channel_moments(rows_of(x), x.data<T>());
    C* means = mean.mutable_data<C>();
    C* variances = var.mutable_data<C>();
    for (int64_t c = 0; c < x.dim(1); ++c) {
      means[c] = static_cast<C>(moments.mean[c]);
      variances[c] = static_cast<C>(moments.m2[c] / static_cast<double>(x.dim(0)));
    }
  });
}

void normalize_cpu(const NormalizeArgs& args, Tensor& y) {
  dispatch_floating(y.dtype(), "batch_norm", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = ComputeType<T>;
    const std::vector<double> rstd = reciprocal_deviation<C>(args.var, args.eps);
    Affine<C> affine{values_of<C>(args.mean), values_of<C>(args.weight), values_of<C>(args.bias)};
    for (size_t c = 0; c < rstd.size(); ++c) affine.scale[c] = static_cast<C>(affine.scale[c] * rstd[c]);
    normalize_rows(rows_of(y), affine, args.x.data<T>(), data_or_null<T>(args.residual), args.relu,
                   y.mutable_data<T>());
  });
}

// The sums of the whole batch in the form of gradient_sums().
template <typename C>
GradientSums sums_of_batch(const NormalizeGradArgs& args, const std::vector<double>& rstd) {
  const std::vector<C> given = values_of<C>(args.sums);
  GradientSums sums;
  for (size_t c = 0; c < rstd.size(); ++c) {
    sums.g.push_back(given[c]);
    sums.gx.push_back(given[rstd.size() + c] / rstd[c]);
  }
  return sums;
}

void merge_statistics_cpu(const MergeStatisticsArgs& args, Tensor& mean, Tensor& var, Tensor& unbiased,
                          Tensor& count) {
  dispatch_floating(mean.dtype(), "sync_batch_norm", [&](auto tag) {
    using C = ComputeType<typename decltype(tag)::type>;
    const MergeStatistics<C> merge{
        args.rows.data<C>(),         args.rows.dim(0),           mean.numel(),
        args.running_mean.data<C>(), args.running_var.data<C>(), mean.mutable_data<C>(),
        var.mutable_data<C>(),       unbiased.mutable_data<C>(), count.mutable_data<C>()};
    for (int64_t c = 0; c < mean.numel(); ++c) merge(c);
  });
}

// For y = w (x - mean) r + b with r = 1 / sqrt(var + eps), and sums over the m rows (Ioffe & Szegedy 2015,
// section 3): dL/dw = r sum g (x - mean), dL/db = sum g, and
// dL/dx = w r g - w r^3 (x - mean) sum g (x - mean) / m - w r sum g / m, the last two through the statistics.
template <typename T>
void normalize_backward(const NormalizeGradArgs& args, Tensor* grad_x, Tensor* grad_weight,
                        Tensor* grad_bias) {
  using C = ComputeType<T>;
  const ChannelRows rows = rows_of(args.grad_y);
  const std::vector<double> rstd = reciprocal_deviation<C>(args.var, args.eps);
  const std::vector<C> mean = values_of<C>(args.mean);
  const T* g = args.grad_y.data<T>();
  const T* y = data_or_null<T>(args.y);
  GradientSums sums;
  const bool part = args.sums.defined();
  if (grad_weight || (args.batch_stats && !part)) sums = gradient_sums(rows, mean, g, args.x.data<T>(), y);
  for (size_t c = 0; grad_weight && c < rstd.size(); ++c) {
    grad_weight->mutable_data<C>()[c] = static_cast<C>(rstd[c] * sums.gx[c]);
    grad_bias->mutable_data<C>()[c] = static_cast<C>(sums.g[c]);
  }
  if (!grad_x) return;
  std::vector<C> scale = values_of<C>(args.weight);
  for (size_t c = 0; c < rstd.size(); ++c) scale[c] = static_cast<C>(scale[c] * rstd[c]);
  if (!args.batch_stats) return scale_rows(rows, scale, g, y, grad_x->mutable_data<T>());
  GradientAffine<C> affine{mean, scale, scale, scale};
  if (part) sums = sums_of_batch<C>(args, rstd);
  const double m = part ? args.count.item() : static_cast<double>(rows.rows());
  for (size_t c = 0; c < rstd.size(); ++c) {
    affine.slope[c] = static_cast<C>(-scale[c] * rstd[c] * rstd[c] * sums.gx[c] / m);
    affine.shift[c] = static_cast<C>(-scale[c] * sums.g[c] / m);
  }
  normalize_rows_backward(rows, affine, g, args.x.data<T>(), y, grad_x->mutable_data<T>());
}

void normalize_backward_cpu(const NormalizeGradArgs& args, Tensor* grad_x, Tensor* grad_weight,
                            Tensor* grad_bias) {
  dispatch_floating(args.grad_y.dtype(), "batch_norm", [&](auto tag) {
    normalize_backward<typename decltype(tag)::type>(args, grad_x, grad_weight, grad_bias);
  });
}

OSPREY_REGISTER_KERNEL(batch_norm_stats_kernel, DeviceType::kCPU, batch_norm_stats_cpu);
OSPREY_REGISTER_KERNEL(merge_statistics_kernel, DeviceType::kCPU, merge_statistics_cpu);
OSPREY_REGISTER_KERNEL(normalize_kernel, DeviceType::kCPU, normalize_cpu);
OSPREY_REGISTER_KERNEL(normalize_backward_kernel, DeviceType::kCPU, normalize_backward_cpu);

}  // namespace

OSPREY_MAP_CPU(UpdateRunning);

}  // namespace osprey
