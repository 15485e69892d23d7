#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor/device_kernel.h"
#include "core/tensor/tensor.h"

namespace osprey {

struct SgdHyper {
  float lr, momentum, dampening, weight_decay;
  float grad_factor;  // multiplies the gradient first
  bool nesterov;
  bool first_step;  // the momentum buffer is still uninitialised: it starts as the gradient
};

// torch.optim.SGD (1.13) for one element: reads the gradient, writes parameter and buffer once.
struct SgdStep {
  SgdHyper h;
  float* param;
  const float* grad;
  float* buffer;  // null when momentum is 0
  OSPREY_HD void operator()(int64_t i) const {
    float d = grad[i] * h.grad_factor;
    if (h.weight_decay != 0) d += h.weight_decay * param[i];
    if (buffer != nullptr) {
      const float b = h.first_step ? d : buffer[i] * h.momentum + d * (1 - h.dampening);
      buffer[i] = b;
      d = h.nesterov ? d + h.momentum * b : b;
    }
    param[i] -= h.lr * d;
  }
};

struct SgdJob {
  SgdHyper hyper;
  Tensor param, grad, buffer;  // f32 of one shape; buffer is undefined without momentum

  SgdStep step() {
    return {hyper, param.mutable_data<float>(), grad.data<float>(),
            buffer.defined() ? buffer.mutable_data<float>() : nullptr};
  }
};
// All parameters of one step, on one device.
extern DeviceKernel<void(std::vector<SgdJob>& jobs)> sgd_kernel;

}  // namespace osprey
