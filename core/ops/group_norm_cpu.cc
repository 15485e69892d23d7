#include "core/backend/cpu/normalize_rows.h"
#include "core/ops/norm_kernel.h"

namespace osprey {
namespace {

// Runs body(image) for each image: in parallel when there are many (RoIs), else one after the other with the
// parallelism inside. The results are the same.
template <typename Body>
void for_each_image(int64_t images, const Body& body) {
  const int64_t grain = images >= 2 * num_threads() ? 1 : images;
  parallel_ranges(images, grain, [&](int64_t begin, int64_t end) {
    for (int64_t image = begin; image < end; ++image) body(image);
  });
}

template <typename T>
void forward(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps, Tensor& y, Tensor& mean,
             Tensor& rstd) {
  using C = ComputeType<T>;
  const int64_t pixels = x.dim(1), channels = x.dim(2), groups = mean.dim(1), depth = channels / groups;
  const T* from = x.data<T>();
  T* to = y.mutable_data<T>();
  C* means = mean.mutable_data<C>();
  C* rstds = rstd.mutable_data<C>();
  for_each_image(x.dim(0), [&](int64_t image) {
    const ChannelRows rows(pixels, channels);
    const Moments channel = channel_moments(rows, from + image * pixels * channels);
    Affine<C> affine{std::vector<C>(channels), std::vector<C>(channels),
                     std::vector<C>(bias.data<C>(), bias.data<C>() + channels)};
    for (int64_t group = 0; group < groups; ++group) {
      const int64_t first = group * depth;
      double center = 0, m2 = 0;
      for (int64_t c = first; c < first + depth; ++c) center += channel.mean[c] / static_cast<double>(depth);
      for (int64_t c = first; c < first + depth; ++c) {
        const double offset = channel.mean[c] - center;
        m2 += channel.m2[c] + static_cast<double>(pixels) * offset * offset;
      }
      const double r = 1 / std::sqrt(m2 / static_cast<double>(pixels * depth) + eps);
      means[image * groups + group] = static_cast<C>(center);
      rstds[image * groups + group] = static_cast<C>(r);
      for (int64_t c = first; c < first + depth; ++c) {
        affine.mean[c] = static_cast<C>(center);
        affine.scale[c] = static_cast<C>(weight.data<C>()[c] * r);
      }
    }
    normalize_rows<T>(rows, affine, from + image * pixels * channels, nullptr, false,
                      to + image * pixels * channels);
  });
}

// As batch norm's gradient, with the sums taken over the group: m = pixels * channels of the group, and
// w g in place of g inside them.
template <typename T>
void backward(const Tensor& grad_y, const Tensor& x, const Tensor& weight, const Tensor& mean,
              const Tensor& rstd, Tensor& grad_x, Tensor& grad_weight, Tensor& grad_bias) {
  using C = ComputeType<T>;
  const int64_t images = x.dim(0), pixels = x.dim(1), channels = x.dim(2), groups = mean.dim(1);
  const int64_t depth = channels / groups, size = pixels * channels;
  const double m = static_cast<double>(pixels * depth);
  const C* w = weight.data<C>();
  const T* g = grad_y.data<T>();
  const T* from = x.data<T>();
  T* to = grad_x.mutable_data<T>();
  std::vector<GradientSums> sums(images);
  for_each_image(images, [&](int64_t image) {
    const ChannelRows rows(pixels, channels);
    GradientAffine<C> affine{std::vector<C>(channels), std::vector<C>(channels), std::vector<C>(channels),
                             std::vector<C>(channels)};
    for (int64_t c = 0; c < channels; ++c) affine.mean[c] = mean.data<C>()[image * groups + c / depth];
    sums[image] = gradient_sums<T>(rows, affine.mean, g + image * size, from + image * size, nullptr);
    for (int64_t group = 0; group < groups; ++group) {
      const double r = rstd.data<C>()[image * groups + group];
      double sum_g = 0, sum_gx = 0;
      for (int64_t c = group * depth; c < (group + 1) * depth; ++c) {
        sum_g += w[c] * sums[image].g[c];
        sum_gx += w[c] * sums[image].gx[c];
      }
      for (int64_t c = group * depth; c < (group + 1) * depth; ++c) {
        affine.scale[c] = static_cast<C>(w[c] * r);
        affine.slope[c] = static_cast<C>(-r * r * r * sum_gx / m);
        affine.shift[c] = static_cast<C>(-r * sum_g / m);
      }
    }
    normalize_rows_backward<T>(rows, affine, g + image * size, from + image * size, nullptr,
                               to + image * size);
  });
  for (int64_t c = 0; c < channels; ++c) {
    double sum_w = 0, sum_b = 0;
    for (int64_t image = 0; image < images; ++image) {
      sum_w += rstd.data<C>()[image * groups + c / depth] * sums[image].gx[c];
      sum_b += sums[image].g[c];
    }
    grad_weight.mutable_data<C>()[c] = static_cast<C>(sum_w);
    grad_bias.mutable_data<C>()[c] = static_cast<C>(sum_b);
  }
}

void group_norm_forward_cpu(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps, Tensor& y,
                            Tensor& mean, Tensor& rstd) {
  dispatch_floating(x.dtype(), "group_norm", [&](auto tag) {
    forward<typename decltype(tag)::type>(x, weight, bias, eps, y, mean, rstd);
  });
}

void group_norm_backward_cpu(const Tensor& grad_y, const Tensor& x, const Tensor& weight, const Tensor& mean,
                             const Tensor& rstd, Tensor& grad_x, Tensor& grad_weight, Tensor& grad_bias) {
  dispatch_floating(x.dtype(), "group_norm", [&](auto tag) {
    backward<typename decltype(tag)::type>(grad_y, x, weight, mean, rstd, grad_x, grad_weight, grad_bias);
  });
}

OSPREY_REGISTER_KERNEL(group_norm_forward_kernel, DeviceType::kCPU, group_norm_forward_cpu);
OSPREY_REGISTER_KERNEL(group_norm_backward_kernel, DeviceType::kCPU, group_norm_backward_cpu);

}  // namespace
}  // namespace osprey
