#include <cmath>

#include "core/backend/cuda/column_sums.cuh"
#include "core/backend/cuda/dispatch.h"
#include "core/ops/norm_kernel.h"

// Group normalisation on CUDA. A map (n, pixels, c) is summed over pixels into one column for each image and
// channel; a small second kernel joins the channels of a group.
namespace osprey {
namespace {

struct GroupShape {
  int64_t pixels, channels, groups;

  OSPREY_HD int64_t group_channels() const { return channels / groups; }
  // Of a column (image, channel).
  OSPREY_HD int64_t element(int64_t pixel, int64_t column) const {
    const int64_t image = divide(column, channels);
    return (image * pixels + pixel) * channels + column - image * channels;
  }
  // Of (image, group): the one a column is in, and the one of a row (image, pixel) and channel.
  OSPREY_HD int64_t group_of_column(int64_t column) const { return divide(column, group_channels()); }
  OSPREY_HD int64_t group_of_element(int64_t row, int64_t c) const {
    return divide(row, pixels) * groups + divide(c, group_channels());
  }
};

template <typename T>
struct ValueTerm {
  GroupShape s;
  const T* x;
  OSPREY_HD void operator()(int64_t pixel, int64_t column, float* sums) const {
    sums[0] += static_cast<float>(x[s.element(pixel, column)]);
  }
};

template <typename T>
struct DeviationTerm {
  GroupShape s;
  const T* x;
  const float* mean;
  OSPREY_HD void operator()(int64_t pixel, int64_t column, float* sums) const {
    const float d = static_cast<float>(x[s.element(pixel, column)]) - mean[s.group_of_column(column)];
    sums[0] += d * d;
  }
};

// The mean over a group of what its columns hold; 1 / sqrt(mean + eps) of it when eps >= 0.
struct GroupMean {
  GroupShape s;
  const double* columns;
  double eps;
  float* out;
  OSPREY_HD void operator()(int64_t group) const {
    double sum = 0;
    for (int64_t c = 0; c < s.group_channels(); ++c) sum += columns[group * s.group_channels() + c];
    const double mean = sum / static_cast<double>(s.pixels * s.group_channels());
    out[group] = static_cast<float>(eps < 0 ? mean : 1 / std::sqrt(mean + eps));
  }
};

template <typename T>
struct Normalize {
  GroupShape s;
  const T* x;
  const float *mean, *rstd, *weight, *bias;
  T* y;
  OSPREY_HD void operator()(int64_t row, int64_t c, int64_t) const {
    const int64_t i = row * s.channels + c, group = s.group_of_element(row, c);
    y[i] = static_cast<T>((static_cast<float>(x[i]) - mean[group]) * rstd[group] * weight[c] + bias[c]);
  }
};

GroupShape shape_of(const Tensor& x, const Tensor& mean) { return {x.dim(1), x.dim(2), mean.dim(1)}; }

void forward_cuda(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps, Tensor& y,
                  Tensor& mean, Tensor& rstd) {
  const Device device = x.device();
  const GroupShape s = shape_of(x, mean);
  const int64_t columns = x.dim(0) * s.channels, groups = mean.numel();
  dispatch_cuda(x.dtype(), "group_norm", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* in = x.data<T>();
    const Tensor sums = sum_columns_cuda<1, float>(device, s.pixels, columns, ValueTerm<T>{s, in});
    parallel_for_cuda(device, groups, GroupMean{s, sums.data<double>(), -1, mean.mutable_data<float>()});
    const Tensor squares =
        sum_columns_cuda<1, float>(device, s.pixels, columns, DeviationTerm<T>{s, in, mean.data<float>()});
    parallel_for_cuda(device, groups, GroupMean{s, squares.data<double>(), eps, rstd.mutable_data<float>()});
    parallel_rows_cuda(device, x.dim(0) * s.pixels, s.channels,
                       Normalize<T>{s, in, mean.data<float>(), rstd.data<float>(), weight.data<float>(),
                                    bias.data<float>(), y.mutable_data<T>()});
  });
}

template <typename T>
struct GradientTerms {
  GroupShape s;
  const T *grad_y, *x;
  const float* mean;
  OSPREY_HD void operator()(int64_t pixel, int64_t column, float* sums) const {
    const int64_t i = s.element(pixel, column);
    const float g = static_cast<float>(grad_y[i]);
    sums[0] += g;
    sums[1] += g * (static_cast<float>(x[i]) - mean[s.group_of_column(column)]);
  }
};

// Over the images, for one channel. totals: (2, n, channels), of g and of g (x - mean).
struct AffineGradients {
  GroupShape s;
  int64_t images;
  const double* totals;
  const float* rstd;
  float *weight, *bias;
  OSPREY_HD void operator()(int64_t c) const {
    double g = 0, g_x_hat = 0;
    for (int64_t image = 0; image < images; ++image) {
      const int64_t column = image * s.channels + c;
      g += totals[column];
      g_x_hat += totals[images * s.channels + column] * rstd[s.group_of_column(column)];
    }
    bias[c] = static_cast<float>(g);
    weight[c] = static_cast<float>(g_x_hat);
  }
};

// E[weight g] and E[weight g x_hat] rstd of a group: (2, n, groups).
struct GroupGradients {
  GroupShape s;
  int64_t images;
  const double* totals;
  const float *rstd, *weight;
  float* out;
  OSPREY_HD void operator()(int64_t group) const {
    double g = 0, g_x = 0;
    for (int64_t k = 0; k < s.group_channels(); ++k) {
      const int64_t column = group * s.group_channels() + k, c = column % s.channels;
      g += totals[column] * weight[c];
      g_x += totals[images * s.channels + column] * weight[c];
    }
    const double count = static_cast<double>(s.pixels * s.group_channels()), r = rstd[group];
    out[group] = static_cast<float>(g / count);
    out[images * s.groups + group] = static_cast<float>(g_x / count * r * r);
  }
};

template <typename T>
struct InputGradient {
  GroupShape s;
  int64_t images;
  const T *grad_y, *x;
  const float *mean, *rstd, *weight, *of_group;
  T* grad_x;
  OSPREY_HD void operator()(int64_t row, int64_t c, int64_t) const {
    const int64_t i = row * s.channels + c, group = s.group_of_element(row, c);
    const float g = static_cast<float>(grad_y[i]) * weight[c];
    const float centred = static_cast<float>(x[i]) - mean[group];
    grad_x[i] =
        static_cast<T>(rstd[group] * (g - of_group[group] - centred * of_group[images * s.groups + group]));
  }
};

void backward_cuda(const Tensor& grad_y, const Tensor& x, const Tensor& weight, const Tensor& mean,
                   const Tensor& rstd, Tensor& grad_x, Tensor& grad_weight, Tensor& grad_bias) {
  const Device device = x.device();
  const GroupShape s = shape_of(x, mean);
  const int64_t images = x.dim(0);
  dispatch_cuda(x.dtype(), "group_norm", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Tensor totals =
        sum_columns_cuda<2, float>(device, s.pixels, images * s.channels,
                                   GradientTerms<T>{s, grad_y.data<T>(), x.data<T>(), mean.data<float>()});
    parallel_for_cuda(device, s.channels,
                      AffineGradients{s, images, totals.data<double>(), rstd.data<float>(),
                                      grad_weight.mutable_data<float>(), grad_bias.mutable_data<float>()});
    Tensor of_group({2, images, s.groups}, DType::kF32, device);
    parallel_for_cuda(device, images * s.groups,
                      GroupGradients{s, images, totals.data<double>(), rstd.data<float>(),
                                     weight.data<float>(), of_group.mutable_data<float>()});
    parallel_rows_cuda(
        device, x.dim(0) * s.pixels, s.channels,
        InputGradient<T>{s, images, grad_y.data<T>(), x.data<T>(), mean.data<float>(), rstd.data<float>(),
                         weight.data<float>(), of_group.data<float>(), grad_x.mutable_data<T>()});
  });
}

OSPREY_REGISTER_KERNEL(group_norm_forward_kernel, DeviceType::kCUDA, forward_cuda);
OSPREY_REGISTER_KERNEL(group_norm_backward_kernel, DeviceType::kCUDA, backward_cuda);

}  // namespace
}  // namespace osprey
