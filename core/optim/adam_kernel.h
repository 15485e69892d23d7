#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/tensor/device_kernel.h"
#include "core/tensor/tensor.h"

namespace osprey {

struct AdamHyper {
  float beta1, beta2, eps;
  float one_minus_beta1, one_minus_beta2;  // rounded once from double, as PyTorch passes them
  float step_size;                         // lr / (1 - beta1^t)
  float sqrt_bias_correction2;             // sqrt(1 - beta2^t)
  float l2;                                // Adam: weight decay added to the gradient
  float decay;                             // AdamW: the weight is multiplied by this first (1: none)
  float grad_factor;                       // multiplies the gradient first
};

// torch.optim.Adam and AdamW (1.13) for one element. Kingma & Ba 2015; Loshchilov & Hutter 2019; amsgrad:
// Reddi et al. 2018.
struct AdamStep {
  AdamHyper h;
  float* param;
  const float* grad;
  float* exp_avg;
  float* exp_avg_sq;
  float* max_exp_avg_sq;  // null without amsgrad
  OSPREY_HD void operator()(int64_t i) const {
    const float w = param[i] * h.decay;
    float g = grad[i] * h.grad_factor;
    if (h.l2 != 0) g += h.l2 * w;
    const float m = exp_avg[i] * h.beta1 + g * h.one_minus_beta1;
    float v = exp_avg_sq[i] * h.beta2 + g * g * h.one_minus_beta2;
    exp_avg[i] = m;
    exp_avg_sq[i] = v;
    if (max_exp_avg_sq != nullptr) {
      if (max_exp_avg_sq[i] > v) v = max_exp_avg_sq[i];
      max_exp_avg_sq[i] = v;
    }
    param[i] = w - h.step_size * (m / (std::sqrt(v) / h.sqrt_bias_correction2 + h.eps));
  }
};

struct AdamJob {
  AdamHyper hyper;
  Tensor param, grad, exp_avg, exp_avg_sq;  // f32 of one shape
  Tensor max_exp_avg_sq;                    // undefined without amsgrad

  AdamStep step() {
    return {hyper,
            param.mutable_data<float>(),
            grad.data<float>(),
            exp_avg.mutable_data<float>(),
            exp_avg_sq.mutable_data<float>(),
            max_exp_avg_sq.defined() ? max_exp_avg_sq.mutable_data<float>() : nullptr};
  }
};
// All parameters of one step, on one device.
extern DeviceKernel<void(std::vector<AdamJob>& jobs)> adam_kernel;

}  // namespace osprey
