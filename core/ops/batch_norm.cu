#include "core/ops/batch_norm_kernel.h"

#include <cmath>

#include "core/backend/cuda/column_sums.cuh"
#include "core/backend/cuda/dispatch.h"
#include "core/backend/cuda/map_cuda.cuh"
#include "core/ops/norm_kernel.h"

// Batch normalisation on CUDA: bound by memory traffic, so maps are read as often as the sums demand and no
// more.
namespace osprey {

OSPREY_MAP_CUDA(UpdateRunning);

namespace {

constexpr int64_t kSamples = 32;

// A value near each channel's mean: that of rows from all over the map.
template <typename T>
struct SampleMean {
  const T* x;
  int64_t rows, channels;
  float* shift;
  OSPREY_HD void operator()(int64_t c) const {
    const int64_t count = rows < kSamples ? rows : kSamples;
    float sum = 0;
    for (int64_t k = 0; k < count; ++k) sum += static_cast<float>(x[k * rows / count * channels + c]);
    shift[c] = sum / static_cast<float>(count);
  }
};

template <typename T>
struct ShiftedTerms {
  const T* x;
  const float* shift;
  int64_t channels;
  OSPREY_HD void operator()(int64_t row, int64_t c, float* sums) const {
    const float d = static_cast<float>(x[row * channels + c]) - shift[c];
    sums[0] += d;
    sums[1] += d * d;
  }
};

struct FinishStatistics {
  const double* totals;  // (2, channels)
  const float* shift;
  int64_t channels;
  double count;
  float *mean, *var;
  OSPREY_HD void operator()(int64_t c) const {
    const double d = totals[c] / count, square = totals[channels + c] / count - d * d;
    mean[c] = static_cast<float>(shift[c] + d);
    var[c] = static_cast<float>(square > 0 ? square : square - square);  // NaN stays NaN
  }
};

// One pass over the map. Sums of squares lose the variance where the mean is large against it; around a value
// near the mean they do not (Chan, Golub & LeVeque 1983, "Algorithms for computing the sample variance").
void stats_cuda(const Tensor& x, Tensor& mean, Tensor& var) {
  const Device device = x.device();
  const int64_t rows = x.dim(0), channels = x.dim(1);
  Tensor shift({channels}, DType::kF32, device);
  dispatch_cuda(x.dtype(), "batch_norm", [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_for_cuda(device, channels,
                      SampleMean<T>{x.data<T>(), rows, channels, shift.mutable_data<float>()});
    const Tensor sums = sum_columns_cuda<2, float>(
        device, rows, channels, ShiftedTerms<T>{x.data<T>(), shift.data<float>(), channels});
    parallel_for_cuda(
        device, channels,
        FinishStatistics{sums.data<double>(), shift.data<float>(), channels, static_cast<double>(rows),
                         mean.mutable_data<float>(), var.mutable_data<float>()});
  });
}

void merge_statistics_cuda(const MergeStatisticsArgs& args, Tensor& mean, Tensor& var, Tensor& unbiased,
                           Tensor& count) {
  parallel_for_cuda(mean.device(), mean.numel(),
                    MergeStatistics<float>{args.rows.data<float>(), args.rows.dim(0), mean.numel(),
                                           args.running_mean.data<float>(), args.running_var.data<float>(),
                                           mean.mutable_data<float>(), var.mutable_data<float>(),
                                           unbiased.mutable_data<float>(), count.mutable_data<float>()});
}

// weight / sqrt(var + eps), once a channel instead of once an element.
struct ChannelScale {
  const float *weight, *var;
  float eps;
  float* scale;
  OSPREY_HD void operator()(int64_t c) const {
    scale[c] = (weight ? weight[c] : 1.0f) / std::sqrt(var[c] + eps);
  }
};

Tensor channel_scale(const Tensor& weight, const Tensor& var, double eps) {
  Tensor scale = Tensor::empty_like(var);
  parallel_for_cuda(var.device(), var.numel(),
                    ChannelScale{weight.defined() ? weight.data<float>() : nullptr, var.data<float>(),
                                 static_cast<float>(eps), scale.mutable_data<float>()});
  return scale;
}

template <typename T>
struct Normalize {
  const T *x, *residual;  // residual may be null
  const float *mean, *scale, *bias;
  int64_t channels;
  bool relu;
  T* y;
  OSPREY_HD T value(T from, const T* shortcut, int64_t c) const {
    float value = (static_cast<float>(from) - mean[c]) * scale[c] + bias[c];
    if (shortcut) value += static_cast<float>(*shortcut);
    return static_cast<T>(relu && value < 0 ? 0.0f : value);
  }
  OSPREY_HD void operator()(int64_t row, int64_t c, int64_t) const {
    const int64_t i = row * channels + c;
    y[i] = value(x[i], residual ? residual + i : nullptr, c);
  }
};

// A pack of neighbouring channels a call.
template <typename T>
struct NormalizePack {
  Normalize<T> element;
  OSPREY_HD void operator()(int64_t row, int64_t pack, int64_t) const {
    const int64_t c = pack * Pack<T>::kWidth, first = row * element.channels + c;
    const Pack<T> x = load_pack(element.x + first);
    Pack<T> residual{}, y;
    if (element.residual) residual = load_pack(element.residual + first);
    for (int j = 0; j < Pack<T>::kWidth; ++j) {
      y.values[j] = element.value(x.values[j], element.residual ? residual.values + j : nullptr, c + j);
    }
    store_pack(y, element.y + first);
  }
};

void normalize_cuda(const NormalizeArgs& args, Tensor& y) {
  const Tensor scale = channel_scale(args.weight, args.var, args.eps);
  dispatch_cuda(y.dtype(), "batch_norm", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* residual = args.residual.defined() ? args.residual.data<T>() : nullptr;
    const Normalize<T> element{
        args.x.data<T>(), residual,  args.mean.data<float>(), scale.data<float>(), args.bias.data<float>(),
        y.dim(1),         args.relu, y.mutable_data<T>()};
    constexpr int kWidth = Pack<T>::kWidth;
    const bool packs =
        y.dim(1) % kWidth == 0 && fits_packs(element.x) && fits_packs(element.y) && fits_packs(residual);
    if (packs) {
      parallel_rows_cuda(y.device(), y.dim(0), y.dim(1) / kWidth, NormalizePack<T>{element});
    } else {
      parallel_rows_cuda(y.device(), y.dim(0), y.dim(1), element);
    }
  });
}

// dL/d(normalised value), past the relu: nothing flows where it cut.
template <typename T>
struct MaskedGradient {
  const T *grad_y, *y;  // y: null without a relu
  OSPREY_HD static float masked(T g, const T* result) {
    return result && static_cast<float>(*result) <= 0 ? 0.0f : static_cast<float>(g);
  }
  OSPREY_HD float operator()(int64_t i) const { return masked(grad_y[i], y ? y + i : nullptr); }
};

template <typename T>
struct GradientTerms {
  MaskedGradient<T> grad;
  const T* x;
  const float* mean;
  int64_t channels;
  OSPREY_HD void operator()(int64_t row, int64_t c, float* sums) const {
    const int64_t i = row * channels + c;
    const float g = grad(i);
    sums[0] += g;
    sums[1] += g * (static_cast<float>(x[i]) - mean[c]);
  }
};

struct AffineGradients {
  const double* totals;  // (2, channels): of g and of g (x - mean)
  const float* rstd;
  int64_t channels;
  float *weight, *bias;
  OSPREY_HD void operator()(int64_t c) const {
    bias[c] = static_cast<float>(totals[c]);
    weight[c] = static_cast<float>(totals[channels + c] * rstd[c]);
  }
};

// Ioffe & Szegedy 2015, section 3: with x_hat = (x - mean) rstd, dL/dx = weight rstd (g - E[g] - x_hat E[g
// x_hat]); fixed statistics leave weight rstd g.
template <typename T>
struct InputGradient {
  MaskedGradient<T> grad;
  const T* x;  // null with fixed statistics, as are mean, rstd and totals
  const float *mean, *rstd, *scale;
  const double* totals;
  int64_t channels;
  double count;
  T* grad_x;
  const float *sums, *rows;  // of the whole batch where x is a part of it (NormalizeGradArgs), else null
  OSPREY_HD T value(float g, const T* from, int64_t c) const {
    if (from) {
      const float mean_g = sums ? sums[c] / *rows : static_cast<float>(totals[c] / count);
      const float slope = sums ? sums[channels + c] / *rows * rstd[c]
                               : static_cast<float>(totals[channels + c] / count) * rstd[c] * rstd[c];
      g -= mean_g + (static_cast<float>(*from) - mean[c]) * slope;
    }
    return static_cast<T>(scale[c] * g);
  }
  OSPREY_HD void operator()(int64_t row, int64_t c, int64_t) const {
    const int64_t i = row * channels + c;
    grad_x[i] = value(grad(i), x ? x + i : nullptr, c);
  }
};

template <typename T>
struct InputGradientPack {
  InputGradient<T> element;
  OSPREY_HD void operator()(int64_t row, int64_t pack, int64_t) const {
    const int64_t c = pack * Pack<T>::kWidth, first = row * element.channels + c;
    const T *x = element.x, *y = element.grad.y;
    const Pack<T> g = load_pack(element.grad.grad_y + first);
    Pack<T> from{}, result{}, out;
    if (x) from = load_pack(x + first);
    if (y) result = load_pack(y + first);
    for (int j = 0; j < Pack<T>::kWidth; ++j) {
      const float masked = MaskedGradient<T>::masked(g.values[j], y ? result.values + j : nullptr);
      out.values[j] = element.value(masked, x ? from.values + j : nullptr, c + j);
    }
    store_pack(out, element.grad_x + first);
  }
};

template <typename T>
void backward_as(const NormalizeGradArgs& args, Tensor* grad_x, Tensor* grad_weight, Tensor* grad_bias) {
  const Device device = args.grad_y.device();
  const int64_t rows = args.grad_y.dim(0), channels = args.grad_y.dim(1);
  const MaskedGradient<T> grad{args.grad_y.data<T>(), args.y.defined() ? args.y.data<T>() : nullptr};
  const Tensor rstd = channel_scale(Tensor(), args.var, args.eps);
  Tensor totals;
  const bool part = args.sums.defined();
  if (grad_weight || (grad_x && args.batch_stats && !part)) {
    totals = sum_columns_cuda<2, float>(
        device, rows, channels, GradientTerms<T>{grad, args.x.data<T>(), args.mean.data<float>(), channels});
  }
  if (grad_weight) {
    parallel_for_cuda(device, channels,
                      AffineGradients{totals.data<double>(), rstd.data<float>(), channels,
                                      grad_weight->mutable_data<float>(), grad_bias->mutable_data<float>()});
  }
  if (!grad_x) return;
  const Tensor scale = channel_scale(args.weight, args.var, args.eps);
  const bool moving = args.batch_stats;
  const InputGradient<T> element{grad,
                                 moving ? args.x.data<T>() : nullptr,
                                 args.mean.data<float>(),
                                 rstd.data<float>(),
                                 scale.data<float>(),
                                 moving && !part ? totals.data<double>() : nullptr,
                                 channels,
                                 static_cast<double>(rows),
                                 grad_x->mutable_data<T>(),
                                 part ? args.sums.data<float>() : nullptr,
                                 part ? args.count.data<float>() : nullptr};
  const bool packs = channels % Pack<T>::kWidth == 0 && fits_packs(grad.grad_y) && fits_packs(grad.y) &&
                     fits_packs(element.x) && fits_packs(element.grad_x);
  if (packs) {
    parallel_rows_cuda(device, rows, channels / Pack<T>::kWidth, InputGradientPack<T>{element});
  } else {
    parallel_rows_cuda(device, rows, channels, element);
  }
}

void normalize_backward_cuda(const NormalizeGradArgs& args, Tensor* grad_x, Tensor* grad_weight,
                             Tensor* grad_bias) {
  dispatch_cuda(args.grad_y.dtype(), "batch_norm", [&](auto tag) {
    backward_as<typename decltype(tag)::type>(args, grad_x, grad_weight, grad_bias);
  });
}

OSPREY_REGISTER_KERNEL(batch_norm_stats_kernel, DeviceType::kCUDA, stats_cuda);
OSPREY_REGISTER_KERNEL(merge_statistics_kernel, DeviceType::kCUDA, merge_statistics_cuda);
OSPREY_REGISTER_KERNEL(normalize_kernel, DeviceType::kCUDA, normalize_cuda);
OSPREY_REGISTER_KERNEL(normalize_backward_kernel, DeviceType::kCUDA, normalize_backward_cuda);

}  // namespace
}  // namespace osprey
