#include "core/backend/cuda/launch.cuh"
#include "core/optim/adam_kernel.h"

namespace osprey {
namespace {

void adam_cuda(const AdamHyper& hyper, Tensor& param, const Tensor& grad, Tensor& exp_avg, Tensor& exp_avg_sq,
               Tensor& max_exp_avg_sq) {
  parallel_for_cuda(param.device(), param.numel(),
                    make_adam_step(hyper, param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq));
}

OSPREY_REGISTER_KERNEL(adam_kernel, DeviceType::kCUDA, adam_cuda);

}  // namespace
}  // namespace osprey
