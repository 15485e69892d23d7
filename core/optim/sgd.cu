#include "core/backend/cuda/launch.cuh"
#include "core/optim/sgd_kernel.h"

namespace osprey {
namespace {

void sgd_cuda(const SgdHyper& hyper, Tensor& param, const Tensor& grad, Tensor& buffer) {
  parallel_for_cuda(param.device(), param.numel(), make_sgd_step(hyper, param, grad, buffer));
}

OSPREY_REGISTER_KERNEL(sgd_kernel, DeviceType::kCUDA, sgd_cuda);

}  // namespace
}  // namespace osprey
