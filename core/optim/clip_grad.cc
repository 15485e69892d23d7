#include "core/optim/clip_grad.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/parallel.h"
#include "core/optim/clip_grad_kernel.h"

namespace osprey {

DeviceKernel<void(const Tensors&, double, Tensor&)> grad_norm_kernel("grad_norm");

namespace {

// The unit of the summation: results are the same for any number of threads.
constexpr int64_t kBlock = 1 << 14;

double block_norm(const float* g, int64_t n, double p) {
  double total = 0;
  if (p == 2) {
    for (int64_t i = 0; i < n; ++i) total += static_cast<double>(g[i]) * g[i];
  } else {
    for (int64_t i = 0; i < n; ++i) total = join_norms(total, norm_term(g[i], p), p);
  }
  return total;
}

double tensor_norm(const Tensor& grad, double p) {
  const float* g = grad.data<float>();
  const int64_t n = grad.numel();
  std::vector<double> partial((n + kBlock - 1) / kBlock);
  parallel_ranges(static_cast<int64_t>(partial.size()), 4, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b)
      partial[b] = block_norm(g + b * kBlock, std::min(kBlock, n - b * kBlock), p);
  });
  double total = 0;
  for (const double value : partial) total = join_norms(total, value, p);
  return total;
}

void grad_norm_cpu(const Tensors& grads, double p, Tensor& total) {
  double joined = 0;
  for (const Tensor& grad : grads) joined = join_norms(joined, tensor_norm(grad, p), p);
  *total.mutable_data<double>() = joined;
}

OSPREY_REGISTER_KERNEL(grad_norm_kernel, DeviceType::kCPU, grad_norm_cpu);

}  // namespace

GradClip GradClip::from(const ConfigNode& cfg) {
  GradClip clip;
  if (cfg.is_null()) return clip;
  clip.enabled = true;
  clip.max_norm = cfg.get<double>("max_norm");
  if (!(clip.max_norm > 0)) cfg["max_norm"].fail("must be > 0");
  const ConfigNode type = cfg.find("norm_type");
  if (type.is_null()) return clip;
  // A quoted 'inf' is what PyTorch takes; YAML's own .inf is a number.
  const bool infinite = type.is<std::string>() && type.as<std::string>() == "inf";
  clip.norm_type = infinite ? std::numeric_limits<double>::infinity() : type.as<double>();
  if (!(clip.norm_type > 0)) type.fail("must be > 0, or inf");
  return clip;
}

Tensor start_grad_norm(const std::vector<MasterParameter*>& params, double norm_type) {
  Tensors grads;
  for (const MasterParameter* param : params) {
    if (param->grad.defined() && !param->grad.empty()) grads.push_back(param->grad);
  }
  if (grads.empty()) return {};
  Tensor total({1}, DType::kF64, grads.front().device());
  grad_norm_kernel(grads.front().device(), grads, norm_type, total);
  return total;
}

double finish_grad_norm(double sum, double norm_type) {
  return std::isinf(norm_type) ? sum : std::pow(sum, 1 / norm_type);
}

double grad_norm(const std::vector<MasterParameter*>& params, double norm_type) {
  const Tensor sum = start_grad_norm(params, norm_type);
  return sum.defined() ? finish_grad_norm(sum.item(), norm_type) : 0;
}

double clip_factor(const GradClip& clip, double norm) {
  OSPREY_REQUIRE(std::isfinite(norm), "clip_factor: the gradient norm is ", norm);
  if (!clip.enabled) return 1;
  return std::min(1.0, clip.max_norm / (norm + 1e-6));
}

}  // namespace osprey
